import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { silentLogger, systemClock } from "@fjord/base";
import { KubeClient, Lease, Namespace, Node, Pod, ServiceAccount } from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { freePort, kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import type { Summary } from "../kubelet-api/summary.ts";
import { parseRules } from "../runtimes/simulated/index.ts";
import { Fleet } from "./fleet.ts";
import { FleetServer } from "./fleet-server.ts";

const NODES = 100;
const PODS = 1_000;
const execute = promisify(execFile);

describe("a fleet of simulated nodes on a real API server", { skip: kubernetesSkip(), timeout: 420_000 }, () => {
  let site: TestSite;
  let client: KubeClient;
  let running: Running;

  before(async () => {
    site = await startTestSite();
    client = new KubeClient(site.config);
    for (const name of ["default", "doomed"]) {
      await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }).catch(() => {});
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: name } };
      await client.create(ServiceAccount, account as ServiceAccount);
    }
    running = await start(site);
  });

  after(async () => {
    await running?.stop();
    await client?.close();
    await site?.stop();
  });

  const kubectl = async (...args: string[]) => {
    const { binaries } = findBinaries({ env: process.env });
    const { stdout } = await execute(binaries.path("kubectl"), ["--kubeconfig", site.kubeconfig, ...args]);
    return stdout;
  };

  const phaseOf = async (name: string) => (await client.get(Pod, pod(name))).status?.phase;
  const statusOf = async (name: string) => (await client.get(Pod, pod(name))).status?.containerStatuses?.[0];
  const renewedAt = async (name: string) =>
    Date.parse(String((await client.get(Lease, { name, namespace: "kube-node-lease" })).spec?.renewTime));

  test("all nodes are Ready", async () => {
    await running.fleet.registered();
    const { items } = await client.list(Node);
    assert.equal(items.length, NODES);
    assert.ok(items.every(isReadyNode));
    assert.equal(new Set(items.map(({ status }) => status?.addresses?.[0]?.address)).size, NODES);
  });

  test("pods run, each with an address of its own, and some fail by rule", async () => {
    await inParallel(PODS, 32, (index) => client.create(Pod, podOf(index)));
    await until(async () => !(await hasPods(client, "status.phase=Pending")));
    const { items } = await client.list(Pod);
    const phases = Object.groupBy(items, ({ status }) => status?.phase ?? "");
    assert.equal(phases.Failed?.length, PODS / 20);
    assert.equal(phases.Running?.length, PODS - PODS / 20);
    assert.equal(new Set(phases.Running?.map(({ status }) => status?.podIP)).size, PODS - PODS / 20);
    assert.ok(phases.Running?.every((pod) => conditionOf(pod, "Ready") === "True"));
    const [failed] = phases.Failed ?? [];
    const terminated = failed?.status?.containerStatuses?.[0]?.state?.terminated;
    assert.deepEqual([terminated?.exitCode, terminated?.reason], [7, "OOMKilled"]);
  });

  test("kubectl shows simulated pods as others", async () => {
    const table = await kubectl("get", "pod", "pod-1", "-o", "wide");
    assert.match(table, /pod-1\s+1\/1\s+Running\s+0\s.*10\.64\.\d+\.\d+\s+fleet-2/);
    const description = await kubectl("describe", "pod", "pod-1");
    assert.match(description, /Container ID:\s+simulated:\/\//);
    assert.match(description, /PodReadyToStartContainers\s+True/);
    assert.match(await kubectl("logs", "pod-1"), /^simulated: container web of pod default\/pod-1 has started/);
    assert.match(await kubectl("logs", "pod-3"), /^hello\n$/);
    assert.match(await kubectl("exec", "pod-1", "--", "ls", "/"), /the command would be \["ls","\/"\]/);
  });

  test("usage is told as rules and requests say", async () => {
    const node = running.fleet.node("fleet-2");
    assert.ok(node !== undefined);
    const address = `https://${node.address}:${running.port}/stats/summary`;
    const told = JSON.parse(await ask(site, address)) as Summary;
    assert.equal(told.pods.length, PODS / NODES);
    const memory = told.pods.map((each) => each.containers[0]?.memory?.workingSetBytes);
    assert.deepEqual(new Set(memory), new Set([64 * 2 ** 20]));
    assert.equal(told.node.memory?.workingSetBytes, (PODS / NODES) * 64 * 2 ** 20);
    // Whoever brings neither certificate nor token is not let in.
    await assert.rejects(execute("curl", ["-skf", address]));
  });

  test("another process goes on without touching what runs", async () => {
    const versions = async () => {
      const { items } = await client.list(Pod);
      return new Map(items.map(({ metadata }) => [`${metadata.namespace}/${metadata.name}`, metadata.resourceVersion]));
    };
    const old = await versions();
    await running.stop();
    running = await start(site);
    await running.fleet.registered();
    await until(async () => running.fleet.pods.size === PODS);
    await client.create(Pod, { ...podOf(PODS + 1), metadata: { name: "newcomer", namespace: "default" } });
    await until(async () => (await client.get(Pod, pod("newcomer"))).status?.phase === "Running");
    const now = await versions();
    const { podIP } = (await client.get(Pod, pod("newcomer"))).status ?? {};
    const { items } = await client.list(Pod);
    assert.equal(items.filter(({ status }) => status?.podIP === podIP).length, 1);
    now.delete("default/newcomer");
    assert.deepEqual(now, old);
  });

  test("lives go on while the API is away, and the API hears of them when it is back", async () => {
    const server = site.site.process("kube-apiserver");
    await Promise.all([
      client.create(Pod, told("steady", {})),
      client.create(Pod, told("late", { "start-delay": "4s" })),
      client.create(Pod, told("crashing", { "exit-after": "3s", "exit-code": "1" })),
      client.create(Pod, told("leaving", { "stop-delay": "2s" })),
    ]);
    for (const name of ["steady", "crashing", "leaving"]) await until(async () => (await phaseOf(name)) === "Running");
    await client.delete(Pod, pod("leaving"), { gracePeriodSeconds: 30 });
    const { metadata: before } = await client.get(Pod, pod("steady"));
    await server.kill();
    const lived = (name: string) =>
      running.fleet.pods.on("fleet-1").find((each) => each.pod.metadata.name === name)?.life.containers[0];
    await until(async () => lived("late") !== undefined && (lived("crashing")?.attempt ?? 0) > 0);
    assert.equal(lived("steady")?.finishedAt, undefined);
    const back = Date.now();
    await server.start();
    await site.site.ready();
    await until(async () => (await phaseOf("late")) === "Running");
    await until(async () => ((await statusOf("crashing"))?.restartCount ?? 0) > 0);
    await until(async () => !(await hasPods(client, "metadata.name=leaving")));
    assert.equal((await client.get(Pod, pod("steady"))).metadata.resourceVersion, before.resourceVersion);
    await until(async () => (await renewedAt("fleet-1")) > back && (await renewedAt(`fleet-${NODES}`)) > back);
  });

  test("a process that starts while the API is away takes the lives up again when it is back", async () => {
    const server = site.site.process("kube-apiserver");
    const { metadata: steady } = await client.get(Pod, pod("steady"));
    const crashes = (await statusOf("crashing"))?.restartCount ?? 0;
    const late = (await statusOf("late"))?.state?.running?.startedAt;
    await server.kill();
    await running.stop();
    const starting = start(site);
    await server.start();
    await site.site.ready();
    running = await starting;
    await until(async () => ((await statusOf("crashing"))?.restartCount ?? 0) > crashes);
    assert.equal((await client.get(Pod, pod("steady"))).metadata.resourceVersion, steady.resourceVersion);
    assert.equal((await statusOf("late"))?.state?.running?.startedAt, late);
    const { status } = await client.get(Node, { name: "fleet-1" });
    assert.match(status?.nodeInfo?.kubeletVersion ?? "", /^v1\.\d+\.\d+/);
    for (const name of ["steady", "late", "crashing"]) await client.delete(Pod, pod(name), { gracePeriodSeconds: 0 });
  });

  test("deletion waits for containers, no longer than their time", async () => {
    const slow = (name: string, stopDelay: string): Pod => ({
      ...podOf(0),
      metadata: { name, namespace: "default", annotations: { "simulated.fjord.dev/stop-delay": stopDelay } },
    });
    await Promise.all([client.create(Pod, slow("slow", "2s")), client.create(Pod, slow("stubborn", "1h"))]);
    const phase = async (name: string) => (await client.get(Pod, pod(name))).status?.phase;
    await until(async () => (await phase("slow")) === "Running" && (await phase("stubborn")) === "Running");
    const began = Date.now();
    await client.delete(Pod, pod("slow"), { gracePeriodSeconds: 30 });
    await client.delete(Pod, pod("stubborn"), { gracePeriodSeconds: 4 });
    await until(async () => !(await hasPods(client, "metadata.name=slow")));
    const slowMs = Date.now() - began;
    assert.ok(slowMs >= 1_900 && slowMs < 20_000, `slow went after ${slowMs} ms`);
    await until(async () => !(await hasPods(client, "metadata.name=stubborn")));
    assert.ok(Date.now() - began >= 3_900);
  });

  test("a node can be told to be not ready, and well again", async () => {
    const set = (value: string | null) =>
      client.patch(Node, { name: "fleet-5" }, "merge", {
        metadata: { annotations: { "simulated.fjord.dev/not-ready": value } },
      });
    const isReady = async () => isReadyNode(await client.get(Node, { name: "fleet-5" }));
    await set("true");
    await until(async () => !(await isReady()));
    await set(null);
    await until(isReady);
  });

  test("nodes can be made fewer, and pods all go when they are deleted", async () => {
    await running.fleet.scale(NODES - 10);
    const { items } = await client.list(Node);
    assert.equal(items.length, NODES - 10);
    await client.raw("DELETE", "/api/v1/namespaces/doomed/pods");
    await until(async () => (await client.list(Pod, { namespace: "doomed", limit: 1 })).items.length === 0);
  });
});

interface Running {
  readonly fleet: Fleet;
  readonly port: number;
  stop(): Promise<void>;
}

/** Asks a node itself: API servers do not lead anybody to loopback addresses. */
async function ask({ config }: TestSite, url: string): Promise<string> {
  const { cert, key } = config.tls;
  const sent = request(url, { cert, key, rejectUnauthorized: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return text(response);
}

/** Rules end the pods of one namespace; annotations tell single ones more. */
const RULES = `
pods:
  - namespaces: [doom*]
    settings: {exit-after: 0s, exit-code: 7, exit-reason: OOMKilled}
`;

async function start({ config }: TestSite): Promise<Running> {
  const end = new AbortController();
  const port = await freePort();
  const shared = { clock: systemClock, random: Math.random, logger: silentLogger };
  const rules = await parseRules(RULES, "rules.yaml");
  const restartTiming = { initial: 1_000 };
  const fleet = new Fleet({ ...shared, config, name: "fleet", nodes: NODES, rules, kubeletPort: port, restartTiming });
  const server = new FleetServer({ ...shared, fleet, port });
  const done = Promise.all([fleet.run(end.signal), server.run(end.signal)]);
  const stop = async () => {
    end.abort();
    await done;
  };
  await until(async () => fleet.size === NODES);
  return { fleet, port, stop };
}

function podOf(index: number): Pod {
  const isDoomed = index % 20 === 19;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `pod-${index}`,
      namespace: isDoomed ? "doomed" : "default",
      ...(index === 3 && { annotations: { "simulated.fjord.dev/log": "hello" } }),
    },
    spec: {
      nodeName: `fleet-${1 + (index % NODES)}`,
      restartPolicy: isDoomed ? "Never" : "Always",
      containers: [{ name: "web", image: "example.com/web:1", resources: { requests: { memory: "64Mi" } } }],
    },
  };
}

/** A pod of the first node, with what it is told by annotations. */
function told(name: string, settings: Readonly<Record<string, string>>): Pod {
  const annotations = Object.entries(settings).map(([key, value]) => [`simulated.fjord.dev/${key}`, value]);
  return { ...podOf(0), metadata: { name, namespace: "default", annotations: Object.fromEntries(annotations) } };
}

function pod(name: string) {
  return { name, namespace: "default" };
}

function isReadyNode({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}

function conditionOf({ status }: Pod, wanted: string): string | undefined {
  return status?.conditions?.find(({ type }) => type === wanted)?.status;
}

async function hasPods(client: KubeClient, fieldSelector: string): Promise<boolean> {
  return (await client.list(Pod, { fieldSelector, limit: 1 })).items.length > 0;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 120_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error("it did not come to be");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function inParallel(total: number, concurrency: number, job: (index: number) => Promise<unknown>) {
  let next = 0;
  const worker = async () => {
    while (next < total) await job(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
