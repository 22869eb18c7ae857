import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { after, before, describe, it } from "node:test";
import { AGENT_NAMESPACE, ORIGIN_UID_LABEL, VIRTUAL_NODE } from "@fjord/api";
import { siteIdOf } from "@fjord/continuum/identity";
import { Pod } from "@fjord/kube";
import { agentReady, fjord, type SiteAgent, startSiteAgent } from "../agents/index.ts";
import { freePorts } from "../ports.ts";
import { kubernetesSkip } from "../testing.ts";
import { AcceptanceBed, type ConditionShape, eventually, type PodShape } from "./acceptance-bed.ts";
import { ServiceFront } from "./service-front.ts";
import { deployment, namespace, pod, priorityClass } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
/** Shorter than the usual 15 s: this suite lets several of them run out. */
const SEVERAL = ["--leader-elect", "--leader-elect-lease-duration=7s"];
const own = Object.values(networkInterfaces())
  .flat()
  .find((each) => each !== undefined && !each.internal && each.family === "IPv4")?.address;

describe("agents that are several, and sites that go", { skip: kubernetesSkip(), timeout: 600_000 }, () => {
  let bed: AcceptanceBed;
  let second: SiteAgent;
  let provider: SiteAgent;
  let front: ServiceFront;
  let before1: string[];

  before(async () => {
    bed = await AcceptanceBed.start({ sites: 2, simulatedNodes: 1 }, () => ({
      flags: SEVERAL,
      timeout: 120_000,
    }));
    before1 = await bed.inventory(HOME);
    const options = { process: "fjord-agent-2", flags: SEVERAL, timeout: 120_000 };
    second = await startSiteAgent(bed.site(HOME), options);
    provider = await startSiteAgent(bed.site(AWAY), options);
    // Of the agents of the provider only what stands before both is known.
    front = new ServiceFront([bed.agent(AWAY).peerAddress, provider.peerAddress]);
    const { host, port } = await bed.bed.path(HOME, AWAY).expose(await front.listen(provider.peerAddress.host));
    const token = await fjord(bed.site(AWAY), "pair", "token", `--endpoint=https://${host}:${port}`);
    await fjord(bed.site(HOME), "peer", token.trim(), "--cpu=16", "--memory=64Gi", "--pods=100");
  });

  after(async () => {
    await front?.[Symbol.asyncDispose]();
    await bed?.[Symbol.asyncDispose]();
  });

  it("a peer is shown with the key that its id is derived from", async () => {
    const { status } = await bed.get<{ status: { id: string; publicKey: string } }>(HOME, "site", AWAY);
    assert.equal(siteIdOf(Buffer.from(status.publicKey, "base64")), status.id);
  });

  it("where the agent that leads is killed the other goes on, and nothing is done twice", async () => {
    await offloaded("two");
    await bed.apply(HOME, deployment("web", { namespace: "two", replicas: 4 }));
    await bed.rolledOut(HOME, "two", "deployment/web");
    const leader = await holder();
    const [leads, follows] = (await isLeading(second)) ? [second, bed.agent(HOME)] : [bed.agent(HOME), second];
    await using witness = await watchGuests(await bed.twin(HOME, "two"));

    await leads.process.kill();
    await bed.kubectl(HOME, "-n=two", "scale", "deployment/web", "--replicas=8");
    await eventually("another one leads", async () => (await holder()) !== leader, 60_000);
    assert.ok(follows.process.running);
    await eventually(
      "all of them run",
      async () => Boolean(await bed.rolledOut(HOME, "two", "deployment/web")),
      120_000,
    );
    const pods = await bed.get<{ items: PodShape[] }>(HOME, "pods", "-n=two");
    await eventually("the witness has seen them", async () =>
      pods.items.every(({ metadata }) => witness.guests.has(metadata.uid)),
    );
    assert.deepEqual(
      pods.items.map(({ metadata }) => [metadata.uid, witness.guests.get(metadata.uid)?.size]).sort(),
      pods.items.map(({ metadata }) => [metadata.uid, 1]).sort(),
    );
    await eventually("the node is Ready", async () => (await readyOf(AWAY)).status === "True");
    await leads.process.start();
  });

  it("where an agent of the provider is killed, one that leads or not, the node stays Ready and pods go on coming", async () => {
    await offloaded("behind");
    // A machine that does other work as well makes every change from one agent to the other longer.
    const patience = JSON.stringify({ spec: { virtualNode: { unreachableAfter: "6s" } } });
    await bed.kubectl(HOME, "patch", "peering", AWAY, "--type=merge", `--patch=${patience}`);
    const { status, lastTransitionTime } = await readyOf(AWAY);
    assert.equal(status, "True");
    const agent = bed.agent(AWAY);
    // It was there first, and so it leads; when it is back, the other does.
    for (const role of ["leading", "following"]) {
      await agent.process.kill();
      await bed.apply(HOME, pod(`after-${role}`, { namespace: "behind" }));
      // Guests are made by the one that leads, and a dead leader's lease is waited for.
      const isReady = ["wait", "--for=condition=Ready", `pod/after-${role}`, "--timeout=150s"];
      await bed.kubectl(HOME, "-n=behind", ...isReady);
      await agent.process.start();
      await agentReady(agent, { timeout: 60_000 });
    }
    const now = await readyOf(AWAY);
    assert.deepEqual([now.status, now.lastTransitionTime], ["True", lastTransitionTime], "it was Ready all the time");
    const guests = await bed.placement(AWAY, await bed.twin(HOME, "behind"));
    assert.deepEqual(Object.keys(guests).sort(), ["after-following", "after-leading"]);
    // One is enough for what follows.
    front.remove(provider.peerAddress);
    await provider.process.stop();
  });

  it("a pod that names a virtual node itself runs there, and hears no reproach", async () => {
    await offloaded("named");
    const { spec, ...rest } = pod("direct", { namespace: "named" }) as { spec: object };
    await bed.apply(HOME, { ...rest, spec: { ...spec, nodeName: AWAY } });
    await bed.kubectl(HOME, "-n=named", "wait", "--for=condition=Ready", "pod/direct", "--timeout=150s");
    // Pods of a namespace that has just been offloaded are looked at twice.
    await bed.apply(HOME, pod("indirect", { namespace: "named" }));
    await bed.kubectl(HOME, "-n=named", "wait", "--for=condition=Ready", "pod/indirect", "--timeout=150s");
    const events = await bed.kubectl(HOME, "-n=named", "get", "events", "--field-selector=reason=NotOffloaded");
    assert.equal(events, "");
  });

  it("a pod of higher priority takes the place of another on a virtual node", async () => {
    await fjord(bed.site(HOME), "peer", AWAY, "--name=small", "--cpu=4", "--memory=8Gi", "--pods=2");
    await offloaded("ranks");
    const there = { namespace: "ranks", nodeName: "small" };
    await bed.apply(HOME, priorityClass("urgent", 1_000_000), pod("low-1", there), pod("low-2", there));
    await bed.kubectl(HOME, "-n=ranks", "wait", "--for=condition=Ready", "pod/low-1", "pod/low-2", "--timeout=150s");
    await bed.apply(HOME, pod("high", { ...there, priorityClass: "urgent" }));
    await bed.kubectl(HOME, "-n=ranks", "wait", "--for=condition=Ready", "pod/high", "--timeout=150s");
    const twin = await bed.twin(HOME, "ranks");
    await eventually("one has made room, on both sides", async () => {
      const [here, guests] = await Promise.all([bed.placement(HOME, "ranks"), bed.placement(AWAY, twin)]);
      assert.deepEqual(Object.keys(guests).sort(), Object.keys(here).sort());
      return Object.keys(here).length === 2 && here.high === "small";
    });
    await fjord(bed.site(HOME), "unpeer", "small");
  });

  it("admission is found by a Service as well as by an address", { skip: own === undefined }, async () => {
    const site = bed.site(AWAY);
    const { peerAddress, process: first } = bed.agent(AWAY);
    const [port = 0] = await freePorts(1, own ?? "", Math.random);
    const metadata = { name: "fjord-agent", namespace: AGENT_NAMESPACE };
    await bed.apply(
      AWAY,
      {
        apiVersion: "v1",
        kind: "Service",
        metadata,
        spec: { ports: [{ name: "admission", port: 443, targetPort: port }] },
      },
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { ...metadata, labels: { "kubernetes.io/service-name": "fjord-agent" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [own] }],
        ports: [{ name: "admission", port }],
      },
    );
    await first.stop();
    await startSiteAgent(site, {
      process: "fjord-agent-by-service",
      timeout: 120_000,
      flags: [
        ...SEVERAL,
        `--internal-address=${own}`,
        `--listen=${peerAddress.host}:${peerAddress.port}`,
        `--admission-port=${port}`,
        "--admission-service=fjord-agent:443",
      ],
    });
    const service = "--output=jsonpath={.items[*].webhooks[*].clientConfig.service.name}";
    await eventually("the API server is told", async () => {
      const told = await bed.kubectl(AWAY, "get", "mutatingwebhookconfigurations", service);
      return /^fjord-agent( fjord-agent)*$/.test(told);
    });
    await bed.apply(AWAY, namespace("served"));
    await fjord(site, "offload", "served", "--no-wait");
    const tolerations = "--output=jsonpath={.spec.tolerations[*].key}";
    await eventually("a new pod is let onto virtual nodes", async () => {
      await bed.kubectl(
        AWAY,
        "-n=served",
        "delete",
        "pod",
        "asked",
        "--ignore-not-found",
        "--force",
        "--grace-period=0",
      );
      await bed.apply(AWAY, pod("asked", { namespace: "served" }));
      const keys = await bed.kubectl(AWAY, "-n=served", "get", "pod", "asked", tolerations);
      return keys.split(" ").includes(VIRTUAL_NODE);
    });
    await eventually("the virtual node is Ready", async () => (await readyOf(AWAY)).status === "True");
  });

  it("where the other side is gone for good, unpeering by force leaves nothing behind", async () => {
    for (const name of ["fjord-agent-by-service", "fjord-agent", "fjord-agent-2", "kube-apiserver", "etcd"]) {
      const found = bed.site(AWAY).processes.find((each) => each.name === name);
      if (found?.running) await found.kill();
    }
    await eventually("the node is lost", async () => (await readyOf(AWAY)).status !== "True");
    const started = Date.now();
    assert.match(await fjord(bed.site(HOME), "unpeer", AWAY, "--force"), /site-2 forgotten/);
    const seconds = (Date.now() - started) / 1000;
    for (const name of ["two", "behind", "named", "ranks"])
      await bed.kubectl(HOME, "delete", "namespace", name, "--wait=false");
    await eventually(
      "nothing is left here",
      async () => {
        const more = (await bed.inventory(HOME)).filter((each) => !before1.includes(each) && !/fjord-agent/.test(each));
        if (more.length > 0) throw new Error(more.join(" "));
        return true;
      },
      60_000,
    );
    await assert.rejects(bed.kubectl(HOME, "get", "site", AWAY), /NotFound/);
    assert.ok(seconds < 60, `it took ${seconds} s`);
  });

  async function offloaded(name: string): Promise<void> {
    await bed.apply(HOME, namespace(name));
    await fjord(bed.site(HOME), "offload", name, "--pods=Remote");
  }

  async function isLeading({ metricsUrl }: SiteAgent): Promise<boolean> {
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
    return /^leader_election_master_status\{[^}]*\} 1$/m.test(metrics);
  }

  function holder(): Promise<string> {
    const path = "--output=jsonpath={.spec.holderIdentity}";
    return bed.kubectl(HOME, `-n=${AGENT_NAMESPACE}`, "get", "lease", "fjord-agent", path);
  }

  async function readyOf(node: string): Promise<ConditionShape> {
    const { status } = await bed.get<{ status: { conditions: ConditionShape[] } }>(HOME, "node", node);
    const ready = status.conditions.find(({ type }) => type === "Ready");
    assert.ok(ready);
    return ready;
  }

  /** Every guest that there ever is in a twin namespace, by the uid of the pod that it stands for. */
  async function watchGuests(twin: string) {
    const client = bed.client(AWAY);
    const stop = new AbortController();
    const guests = new Map<string, Set<string>>();
    const see = ({ metadata }: Pod) => {
      const origin = metadata.labels?.[ORIGIN_UID_LABEL] ?? "";
      guests.set(origin, (guests.get(origin) ?? new Set()).add(metadata.uid ?? ""));
    };
    const { items, metadata } = await client.list(Pod, { namespace: twin });
    items.forEach(see);
    const { resourceVersion = "" } = metadata;
    const watching = (async () => {
      for await (const event of client.watch(Pod, { namespace: twin, resourceVersion, signal: stop.signal }))
        if (event.type !== "BOOKMARK") see(event.object);
    })().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    return {
      guests,
      async [Symbol.asyncDispose]() {
        stop.abort();
        await watching;
        await client.close();
      },
    };
  }
});
