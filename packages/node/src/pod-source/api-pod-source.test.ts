import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { seededRandom, silentLogger, sleep, systemClock } from "@fjord/base";
import { clusterConfig, KubeClient, Pod } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { NodeStore } from "../store/node-store.ts";
import { ApiPodSource } from "./api-pod-source.ts";

const directory = await mkdtemp(join(tmpdir(), "fjord-pods-"));
after(() => rm(directory, { recursive: true }));
let count = 0;
const clock = systemClock;

function openStore(file = join(directory, `${++count}.db`)): Promise<NodeStore> {
  return NodeStore.open({ file, clock, logger: silentLogger });
}

/** The server makes the uids; these are the tests' own names for them. */
const names = new Map<string, string>();

/** One life of a node's process. */
class Life implements AsyncDisposable {
  readonly source: ApiPodSource;
  readonly told: string[] = [];
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  readonly #run: Promise<void>;

  constructor(url: string, store: NodeStore, storeAfterMs = 10_000) {
    this.#client = new KubeClient(clusterConfig({ server: url }));
    const timing = { backoffInitialMs: 4, backoffMaxMs: 40, stableMs: 200 };
    this.source = new ApiPodSource({
      client: this.#client,
      store,
      nodeName: "n1",
      storeAfterMs,
      timing,
      clock,
      random: seededRandom(1),
      logger: silentLogger,
    });
    this.source.onChange((uid) => {
      const pod = this.source.get(uid);
      // Whoever hears of a pod finds it on disk, or gone from it.
      assert.equal(store.hasPod(uid), pod !== undefined);
      this.told.push(`${pod === undefined ? "gone" : "here"} ${names.get(uid)}`);
    });
    this.#run = this.source.run(this.#stop.signal);
  }

  names(): string[] {
    return this.source.list().map((pod) => names.get(pod.metadata.uid ?? "") ?? "");
  }

  has(name: string): boolean {
    return this.names().includes(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#run;
    await this.#client.close();
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = clock.now() + 30_000; !condition(); await sleep(clock, 5)) {
    assert.ok(clock.now() < end, `not within 30 s: ${condition}`);
  }
}

function create(server: FaultServer, name: string, called: string, nodeName = "n1"): void {
  const metadata = { name, namespace: "default" };
  const pod = server.create(Pod, { metadata, spec: { nodeName, containers: [] } });
  names.set(pod.metadata.uid ?? "", called);
}

test("gives the pods of its node and tells of what comes, changes and goes, each on disk before", async () => {
  await using server = await FaultServer.start();
  create(server, "a", "a1");
  create(server, "other", "o1", "n2");
  using store = await openStore();
  await using life = new Life(server.url, store);
  await life.source.started();
  assert.deepEqual(life.names(), ["a1"]);
  assert.equal(life.source.isCurrent, true);
  create(server, "b", "b1");
  await until(() => life.told.includes("here b1"));
  server.delete(Pod, { name: "a", namespace: "default" });
  await until(() => life.told.includes("gone a1"));
  assert.deepEqual(life.names(), ["b1"]);
  assert.deepEqual(
    store.pods().map((pod) => pod.metadata.name),
    ["b"],
  );
});

test("keeps its pods while the API is away, and takes over what happened meanwhile", async () => {
  await using server = await FaultServer.start();
  for (const name of ["stays", "goes", "again"]) create(server, name, `${name}1`);
  using store = await openStore();
  await using life = new Life(server.url, store);
  await life.source.started();
  life.told.splice(0);
  await server.down();
  await until(() => !life.source.isConnected);
  assert.deepEqual(life.names().sort(), ["again1", "goes1", "stays1"]);
  assert.equal(life.source.isCurrent, true);
  server.delete(Pod, { name: "goes", namespace: "default" });
  server.delete(Pod, { name: "again", namespace: "default" });
  create(server, "again", "again2");
  await server.up();
  await until(() => life.has("again2") && !life.has("goes1"));
  assert.deepEqual(life.names().sort(), ["again2", "stays1"]);
  assert.deepEqual(life.told.sort(), ["gone again1", "gone goes1", "here again2"]);
});

test("a node that starts without the API has the pods of its store, and meets the API's when it is back", async () => {
  await using server = await FaultServer.start();
  for (const name of ["stays", "goes", "again"]) create(server, name, `${name}1`);
  using store = await openStore();
  await (async () => {
    await using first = new Life(server.url, store);
    await first.source.started();
  })();
  await server.down();
  await using life = new Life(server.url, store, 20);
  await life.source.started();
  assert.deepEqual(life.names().sort(), ["again1", "goes1", "stays1"]);
  assert.equal(life.source.isCurrent, false);
  life.told.splice(0);
  server.delete(Pod, { name: "goes", namespace: "default" });
  server.delete(Pod, { name: "again", namespace: "default" });
  create(server, "again", "again2");
  await server.up();
  await until(() => life.source.isCurrent);
  assert.deepEqual(life.names().sort(), ["again2", "stays1"]);
  assert.deepEqual(life.told.sort(), ["gone again1", "gone goes1", "here again2"]);
  assert.equal(store.pods().length, 2);
});

test("a pod deleted while the node was down never appears, and leaves the store", async () => {
  await using server = await FaultServer.start();
  create(server, "a", "a1");
  using store = await openStore();
  store.putPod({ apiVersion: "v1", kind: "Pod", metadata: { uid: "old1", name: "old", namespace: "default" } });
  await using life = new Life(server.url, store);
  await life.source.started();
  assert.deepEqual(life.names(), ["a1"]);
  assert.equal(store.hasPod("old1"), false);
});

test("waiting for the pods ends with its signal", async () => {
  await using server = await FaultServer.start();
  await server.down();
  using store = await openStore();
  await using life = new Life(server.url, store);
  await assert.rejects(life.source.started(AbortSignal.abort(new Error("no more"))), /no more/);
});
