import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { sleep, systemClock } from "@fjord/base";
import { KubeClient, Namespace, Node, Pod } from "@fjord/kube";
import { freePort, kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";

// Each has a node of its own, which looks every ten seconds: they wait for that together.
describe("a node that runs short", { skip: kubernetesSkip(), concurrency: true }, () => {
  const clock = systemClock;
  const namespace = "short";
  let site: TestSite;
  let admin: KubeClient;
  let directory: string;
  const nodes: ChildProcess[] = [];
  let log = "";

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-eviction-"));
    site = await startTestSite({ components: "all" });
    admin = new KubeClient(site.config);
    await admin.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await until("the service account", async () => {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
      return (await admin.raw("GET", path)).statusCode === 200;
    });
  });
  after(async () => {
    // Pods outlive their node's process, so they have to go before it.
    await removePods().finally(stopNodes);
    await admin?.close();
    await site?.stop();
    // Where root runs it, a node keeps secrets in a memory file system that outlives it.
    for (const name of await readdir(directory)) {
      await promisify(execFile)("umount", [join(directory, name, "memory")]).catch(() => {});
    }
    await rm(directory, { recursive: true, force: true });
  });

  async function removePods(): Promise<void> {
    for (const { metadata } of (await admin.list(Pod, { namespace })).items) {
      await admin.delete(Pod, { name: metadata.name ?? "", namespace }).catch(() => {});
    }
    await until("the pods to be gone", async () => (await admin.list(Pod, { namespace })).items.length === 0);
  }

  async function until<T>(what: string, condition: () => Promise<T | undefined | false>): Promise<T> {
    let last: unknown;
    for (const end = clock.now() + 90_000; ; await sleep(clock, 100)) {
      const result = await condition().catch((error: unknown) => {
        last = error;
        return undefined;
      });
      if (result) return result;
      assert.ok(clock.now() < end, `not within 90 s: ${what} (${last})\n${log}`);
    }
  }

  /** The node as an operator starts it. */
  async function startNode(name: string, ...flags: string[]): Promise<void> {
    const cli = join(import.meta.dirname, "../../cli.ts");
    const place = ["--state-dir", join(directory, name), "--address", "127.0.0.1", "--node-ip", "127.0.0.1"];
    const who = ["--kubeconfig", site.kubeconfig, "--node-name", name, "--port", String(await freePort())];
    const node = spawn(process.execPath, [cli, "run", ...who, ...place, "--runtime", "process", ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    nodes.push(node);
    node.stderr?.on("data", (text) => (log += text));
    await until("the node", () => admin.get(Node, { name }));
  }

  async function stopNodes(): Promise<void> {
    for (const node of nodes.splice(0)) {
      if (node.exitCode !== null || node.signalCode !== null) continue;
      const gone = once(node, "exit");
      node.kill("SIGTERM");
      await gone;
    }
  }

  async function createPod(
    name: string,
    nodeName: string,
    script: string,
    spec: Partial<NonNullable<Pod["spec"]>> = {},
  ) {
    const mounts = (spec.volumes ?? []).map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
    const container = { name: "c", image: "none", command: ["sh", "-c", script], volumeMounts: mounts };
    return admin.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace },
      spec: { nodeName, containers: [container], terminationGracePeriodSeconds: 1, ...spec },
    });
  }

  const find = (name: string) => admin.get(Pod, { name, namespace });
  const evicted = (name: string) =>
    until(`${name} to be evicted`, async () => {
      const { status } = await find(name);
      return status?.phase === "Failed" && status.reason === "Evicted" && status;
    });

  test("evicts a pod that outgrows its emptyDir, and no other", async () => {
    await startNode("disk");
    const volumes = [{ name: "cache", emptyDir: { sizeLimit: "1Mi" } }];
    await createPod("modest", "disk", "sleep 1000", { volumes });
    await until("the modest pod", async () => (await find("modest")).status?.phase === "Running");
    await createPod("greedy", "disk", "head -c 5000000 /dev/zero > /cache/x; sleep 1000", { volumes });
    const status = await evicted("greedy");
    assert.match(status.message ?? "", /EmptyDir volume "cache" exceeds the limit "1Mi"/);
    assert.equal((await find("modest")).status?.phase, "Running");
  });

  test("below a threshold it says so, and evicts", async () => {
    await startNode("memory", "--eviction-hard", "memory.available<100%");
    const pressure = await until("the condition", async () => {
      const { status } = await admin.get(Node, { name: "memory" });
      return status?.conditions?.find(({ type, status }) => type === "MemoryPressure" && status === "True");
    });
    assert.equal(pressure.reason, "KubeletHasInsufficientMemory");
    const resources = { requests: { memory: "1Mi" } };
    const containers = [{ name: "c", image: "none", command: ["sh", "-c", "sleep 1000"], resources }];
    await createPod("victim", "memory", "", { containers });
    const status = await evicted("victim");
    assert.match(status.message ?? "", /low on resource: memory/);
  });
});
