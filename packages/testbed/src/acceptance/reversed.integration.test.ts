// A provider that nobody can dial, with real agents: all that is asked of it comes through connections that it has opened.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { Site } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { fjord } from "../agents/index.ts";
import { DEFAULT_MINOR } from "../binaries/versions.ts";
import { kubectlProgram, kubernetesSkip, startProcessNode, testSubstrates } from "../testing.ts";
import { AcceptanceBed, eventually, type PodShape } from "./acceptance-bed.ts";
import { ended, page, said } from "./running-command.ts";
import { namespace, pod } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
const NAMESPACE = "reversed";
const PORT = 18_080;
const SERVER = `
  const server = require("node:http").createServer((_, answer) => answer.end("page\\n"));
  server.listen(${PORT}, process.env.POD_IP);
  let line = 0;
  setInterval(() => console.log("line", ++line), 200);
`;

describe("a provider that nobody can dial", { skip: kubernetesSkip(), timeout: 600_000 }, () => {
  let bed: AcceptanceBed;

  before(async () => {
    bed = await AcceptanceBed.start({ sites: 2, kubernetes: testSubstrates(["microkube"]) });
    await startProcessNode(bed.site(AWAY), { name: `${AWAY}-node`, bed: bed.bed.id });
    // The way from the provider to the consumer is the only one that there is.
    const endpoint = await bed.endpoint(AWAY, HOME);
    const token = (await fjord(bed.site(HOME), "pair", "token", `--endpoint=${endpoint}`)).trim();
    await fjord(bed.site(AWAY), "pair", token, "--both-ways");
    await fjord(bed.site(HOME), "peer", AWAY, "--cpu=2", "--memory=1Gi", "--pods=10", "--timeout=120s");
    await bed.apply(HOME, namespace(NAMESPACE));
    await fjord(bed.site(HOME), "offload", NAMESPACE, "--pods=Remote");
    const made = pod("server", { namespace: NAMESPACE, command: [process.execPath, "-e", SERVER] }) as Template;
    const env = [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }];
    const containers = made.spec.containers.map((each) => ({ ...each, env }));
    await bed.apply(HOME, { ...made, spec: { ...made.spec, containers } });
    await kubectl("wait", "--for=condition=Ready", "pod/server", "--timeout=120s");
  });

  after(() => bed?.[Symbol.asyncDispose]());

  const kubectl = (...args: readonly string[]) => bed.kubectl(HOME, "-n", NAMESPACE, ...args);
  const start = (...args: readonly string[]): ChildProcess => {
    const all = ["--kubeconfig", bed.site(HOME).kubeconfig, "--namespace", NAMESPACE, ...args];
    return spawn(kubectlProgram(DEFAULT_MINOR), all, { stdio: ["pipe", "pipe", "pipe"] });
  };
  const reach = async () => {
    await using client = bed.client(HOME);
    const { spec, status } = await client.get(Site, { name: AWAY });
    return { endpoints: spec.endpoints ?? [], reason: getCondition(status?.conditions, "Reachable")?.reason };
  };
  const ready = async () => {
    const condition = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}';
    return bed.kubectl(HOME, "get", "node", AWAY, condition);
  };
  const guest = async () => {
    const twin = await bed.twin(HOME, NAMESPACE);
    return (await bed.get<PodShape>(AWAY, "pod", "server", `-n=${twin}`)).metadata.uid;
  };

  const logs = async () => {
    const command = start("logs", "--follow", "--tail=1", "server");
    const [, first] = await said(command, /line (\d+)\n[\s\S]*line \d+\n/);
    return { command, first: Number(first) };
  };
  const exec = async () => {
    const command = start("exec", "-i", "server", "--", "sh", "-c", "cat; exit 3");
    command.stdin?.end("to the pod\n");
    const [out, [code]] = await Promise.all([text(command.stdout as NodeJS.ReadableStream), once(command, "exit")]);
    return [out, code];
  };

  it("is reached through connections that it has opened, and by no endpoint", async () => {
    assert.deepEqual(await reach(), { endpoints: [], reason: "Tunnelled" });
  });

  it("shows logs as they are written, runs commands, and lets ports be reached", async () => {
    const { command } = await logs();
    await ended(command);
    assert.deepEqual(await exec(), ["to the pod\n", 3]);
    const forward = start("port-forward", "pod/server", `:${PORT}`);
    const [, port] = await said(forward, /Forwarding from 127\.0\.0\.1:(\d+)/);
    assert.match(await page(Number(port)), /^HTTP\/1\.[01] 200 [\s\S]*page\n$/);
    await ended(forward);
  });

  it("serves more streams at once than connections wait for them", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, logs));
    assert.deepEqual(await exec(), ["to the pod\n", 3]);
    for (const { command } of all) {
      await said(command, /line \d+\n/);
      await ended(command);
    }
  });

  it("tells by watch what becomes of a pod", async () => {
    const watch = start("get", "pods", "--watch", "--output-watch-events");
    await bed.apply(HOME, pod("short", { namespace: NAMESPACE, command: ["sh", "-c", "exit 7"] }));
    await said(watch, /MODIFIED +short +0\/1 +(Error|CrashLoopBackOff)/);
    await ended(watch);
    await kubectl("delete", "pod", "short", "--wait=true");
  });

  for (const [how, options] of [
    ["falls silent", {}],
    ["is reset", { reset: true }],
  ] as const)
    it(`is away while its connection ${how}, and back by itself with all that ran`, async () => {
      const was = await guest();
      const { command, first } = await logs();
      await bed.bed.cut(AWAY, HOME, options);
      await eventually("the node is not Ready", async () => (await ready()) !== "True");
      assert.equal((await reach()).reason === "Tunnelled", false);
      await bed.bed.heal(AWAY, HOME);
      await eventually("the node is Ready", async () => (await ready()) === "True");
      await ended(command);
      assert.deepEqual(await reach(), { endpoints: [], reason: "Tunnelled" });
      assert.equal(await guest(), was, "the guest is the one of before");
      assert.deepEqual(await exec(), ["to the pod\n", 3]);
      const again = await logs();
      assert.ok(again.first > first, "and has gone on meanwhile");
      await ended(again.command);
    });

  it("dials again when its agent is killed, or the other's", async () => {
    for (const site of [AWAY, HOME]) {
      await bed.agent(site).process.kill();
      await bed.agent(site).process.start();
      await eventually(
        `it is reached after ${site}'s agent is back`,
        async () => (await exec()).join() === "to the pod\n,3",
      );
    }
    assert.deepEqual((await reach()).endpoints, []);
  });
});

interface Template {
  readonly spec: { readonly containers: readonly object[] };
}
