import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VirtualNode } from "@fjord/api";
import { CoreEvent, type KubeClient, Node } from "@fjord/kube";
import { agentReady, Continuum } from "@fjord/testbed/agents";
import { kubernetesSkip, startTestBed } from "@fjord/testbed/testing";
import { eventually, NodeWatch, readyOf } from "./test-continuum.ts";

const LOST_MS = 3_000;
const BACK_MS = 2_000;
/** A machine that does other work as well makes every glitch longer. */
const GLITCH = "6s";

describe("the loss and the return of a provider", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  let continuum: Continuum;
  let client: KubeClient;
  const key = { name: "site-2" };

  before(async () => {
    continuum = new Continuum(await startTestBed({ sites: 2 }));
    await continuum.startAgents({ timeout: 120_000 });
    await continuum.share("site-2");
    await continuum.peer("site-1", "site-2");
    client = continuum.client("site-1");
    await readiness("True");
  });
  after(async () => {
    await client?.close();
    await continuum?.[Symbol.asyncDispose]();
  });

  const readiness = async (status: string, timeout = 30_000) => (await seen(status, timeout)).ready;

  /** How long it took, and the longest time between two looks: what this machine adds to what it measures. */
  async function seen(status: string, timeout = 30_000) {
    const began = Date.now();
    let [last, slack] = [began, 0];
    const ready = await eventually(
      `Node that says ${status}`,
      async () => {
        const found = readyOf(await client.get(Node, key));
        slack = Math.max(slack, Date.now() - last);
        last = Date.now();
        return found?.status === status && found;
      },
      timeout,
    );
    return { ready, slack, ms: last - began };
  }

  /** A machine that does other work as well adds to every time: what is soon enough once is soon enough. */
  async function isLostAndBack(lose: () => Promise<unknown>, bringBack: () => Promise<unknown>): Promise<void> {
    const late: string[] = [];
    while (late.length < 3) {
      const told = await loseOnce(lose, bringBack);
      if (told === undefined) return;
      late.push(told);
    }
    assert.fail(late.join("; again: "));
  }

  async function loseOnce(lose: () => Promise<unknown>, bringBack: () => Promise<unknown>) {
    await readiness("True");
    const began = Date.now();
    await lose();
    const { ready: lost, slack: lostSlack } = await seen("Unknown");
    const lostMs = Date.now() - began;
    assert.equal(lost.reason, "ProviderUnreachable");
    assert.match(lost.message ?? "", /^the provider has not answered since \d{4}-\d\d-\d\dT[\d:.]+Z: ./);
    const since = Date.parse(/since (\S+Z)/.exec(lost.message ?? "")?.[1] ?? "");
    await bringBack();
    const back = await seen("True");
    const isSoon = Math.abs(since - began) < 2_500 && lostMs < LOST_MS + lostSlack && back.ms < BACK_MS + back.slack;
    if (isSoon) return undefined;
    return `its loss was seen after ${lostMs} ms (since ${since - began}), looking each ${lostSlack} ms; its return after ${back.ms} ms, looking each ${back.slack} ms`;
  }

  for (const [name, options] of [
    ["silence", {}],
    ["silence in one direction", { oneWay: true }],
    ["connections that are reset", { reset: true }],
  ] as const) {
    test(`${name}: the Node is NotReady within seconds, says since when, and is back at once`, async () => {
      await isLostAndBack(
        () => continuum.bed.cut("site-1", "site-2", options),
        () => continuum.bed.heal("site-1", "site-2"),
      );
    });
  }

  test("an API server that is gone, behind an agent that is there, is a loss too", async () => {
    const apiserver = continuum.site("site-2").processes.find(({ name }) => name === "kube-apiserver");
    assert.ok(apiserver);
    await isLostAndBack(
      () => apiserver.kill(),
      async () => {
        await apiserver.start();
        await continuum.site("site-2").ready();
      },
    );
  });

  test("an agent that is gone is a loss, and its next run is the return", async () => {
    const agent = continuum.agent("site-2");
    await isLostAndBack(
      () => agent.process.kill(),
      async () => {
        await agent.process.start();
        await agentReady(agent);
      },
    );
  });

  test("the VirtualNode says the same as the Node, and events tell what happened", async () => {
    const { status } = await eventually("ready VirtualNode", async () => {
      const object = await client.get(VirtualNode, key);
      return object.status?.conditions?.[0]?.status === "True" && object;
    });
    assert.equal(status?.conditions?.[0]?.reason, "ProviderReady");
    const reasons = await eventually("events of the Node", async () => {
      const { items } = await client.list(CoreEvent, { fieldSelector: "involvedObject.name=site-2" });
      const ours = items.filter(({ involvedObject }) => involvedObject.kind === "Node").map(({ reason }) => reason);
      return ours.includes("ProviderUnreachable") && ours.includes("ProviderReady") && ours;
    });
    assert.ok(reasons.length > 0);
  });

  test("a glitch that is shorter than the owner allows writes nothing at all", async () => {
    await readiness("True");
    await client.patch(VirtualNode, key, "merge", { spec: { unreachableAfter: GLITCH } });
    // The control plane takes away what it has put there for the losses before, in its own time.
    const { metadata } = await eventually("Node without taints of a loss", async () => {
      const found = await client.get(Node, key);
      return !found.spec?.taints?.some(({ key: taint }) => taint.startsWith("node.kubernetes.io/")) && found;
    });
    const before = await client.get(VirtualNode, key);
    await using watch = new NodeWatch(client, "site-2", metadata.resourceVersion ?? "");
    await continuum.bed.cut("site-1", "site-2");
    // Long enough for a question or two to go unanswered.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await continuum.bed.heal("site-1", "site-2");
    // Until it would have been too long.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    const seen = await watch.stop();
    assert.deepEqual(
      seen.map((node) => readyOf(node)?.status),
      [],
    );
    const after = await client.get(VirtualNode, key);
    assert.deepEqual(
      after.status?.conditions?.[0]?.lastTransitionTime,
      before.status?.conditions?.[0]?.lastTransitionTime,
    );
  });

  test("a restart of the own agent moves nothing, and the kubelet API keeps its port", async () => {
    await readiness("True");
    const node = await client.get(Node, key);
    await using watch = new NodeWatch(client, "site-2", node.metadata.resourceVersion ?? "");
    const agent = continuum.agent("site-1");
    await agent.process.kill();
    await agent.process.start();
    await agentReady(agent);
    const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port;
    await continuum.bed.cut("site-1", "site-2");
    await readiness("Unknown");
    await continuum.bed.heal("site-1", "site-2");
    await readiness("True");
    await eventually(
      "news of that",
      async () => watch.seen.length > 0 && readyOf(watch.seen.at(-1) as Node)?.status === "True",
    );
    const seen = await watch.stop();
    const changes = seen.map((each) => readyOf(each)?.status).filter((each, i, all) => each !== all[i - 1]);
    assert.deepEqual(changes.filter((each) => each !== undefined).slice(-2), ["Unknown", "True"]);
    assert.equal((await client.get(Node, key)).status?.daemonEndpoints?.kubeletEndpoint?.Port, port);
  });
});
