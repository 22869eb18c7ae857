import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { seededRandom, silentLogger, sleep, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import {
  ApiError,
  ConfigMap,
  clusterConfig,
  KubeClient,
  PersistentVolumeClaim,
  type Pod,
  RuntimeClass,
  Secret,
  Service,
  type TokenOptions,
} from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { NodeStore } from "../store/node-store.ts";
import { ApiPodObjects, type ApiPodObjectsOptions } from "./api-pod-objects.ts";

const directory = await mkdtemp(join(tmpdir(), "fjord-objects-"));
after(() => rm(directory, { recursive: true }));
let count = 0;
const clock = systemClock;
const namespace = "n";

function openStore(): Promise<NodeStore> {
  return NodeStore.open({ file: join(directory, `${++count}.db`), clock, logger: silentLogger });
}

/** One life of a node's process. */
class Life implements AsyncDisposable {
  readonly objects: ApiPodObjects;
  readonly told: string[] = [];
  readonly tokensAsked: TokenOptions[] = [];
  refuseTokens: Error | undefined;
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  readonly #run: Promise<void>;

  constructor(url: string, store: NodeStore, options: Partial<ApiPodObjectsOptions> = {}) {
    this.#client = new KubeClient(clusterConfig({ server: url }));
    const client = {
      get: this.#client.get.bind(this.#client),
      list: this.#client.list.bind(this.#client),
      watch: this.#client.watch.bind(this.#client),
      createToken: async (_: unknown, options: TokenOptions = {}) => {
        this.tokensAsked.push(options);
        if (this.refuseTokens !== undefined) throw this.refuseTokens;
        const life = (options.expirationSeconds ?? 0) * 1000;
        const expirationTimestamp = new Date(clock.now() + life).toISOString();
        return { token: `token-${this.tokensAsked.length}`, expirationTimestamp };
      },
    };
    const random = seededRandom(1);
    this.objects = new ApiPodObjects({
      client,
      store,
      answerMs: 20_000,
      clock,
      random,
      logger: silentLogger,
      ...options,
    });
    this.objects.onChange((uid) => this.told.push(uid));
    this.#run = this.objects.run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#run;
    await this.#client.close();
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = clock.now() + 30_000; !(await condition()); await sleep(clock, 5)) {
    assert.ok(clock.now() < end, `not within 30 s: ${condition}`);
  }
}

function pod(uid: string, ...configMaps: string[]): Pod {
  const volumes = configMaps.map((name) => ({ name, configMap: { name } }));
  const spec = { containers: [], volumes, serviceAccountName: "robot" };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: uid, namespace, uid }, spec };
}

function configMap(name: string, value: string, immutable?: boolean) {
  return { metadata: { name, namespace }, data: { value }, ...(immutable && { immutable }) };
}

test("follows what pods refer to, with one watch however many pods, and tells all of them of a change", async () => {
  await using server = await FaultServer.start();
  server.create(ConfigMap, configMap("c", "1"));
  using store = await openStore();
  await using life = new Life(server.url, store);
  for (const uid of ["a", "b"]) life.objects.follow(pod(uid, "c"));
  assert.equal((await life.objects.configMap(namespace, "c"))?.data?.value, "1");
  life.told.splice(0);
  server.update(ConfigMap, configMap("c", "2"));
  await until(() => life.told.length === 2);
  assert.deepEqual(life.told.sort(), ["a", "b"]);
  assert.equal((await life.objects.configMap(namespace, "c"))?.data?.value, "2");
  const asked = server.requests.matching().filter(({ path }) => path.endsWith("/configmaps"));
  assert.equal(asked.filter(({ verb }) => verb === "watch").length, 1);
  for (const { query } of asked) assert.equal(query.get("fieldSelector"), "metadata.name=c");
});

test("an object that does not exist is known not to, and comes when it is made", async () => {
  await using server = await FaultServer.start();
  using store = await openStore();
  await using life = new Life(server.url, store);
  life.objects.follow(pod("a", "later"));
  assert.equal(await life.objects.configMap(namespace, "later"), undefined);
  life.told.splice(0);
  server.create(ConfigMap, configMap("later", "1"));
  await until(() => life.told.includes("a"));
  assert.equal((await life.objects.configMap(namespace, "later"))?.data?.value, "1");
});

test("while the API is away, and after a restart then, objects come from the store", async () => {
  await using server = await FaultServer.start();
  server.create(ConfigMap, configMap("c", "1"));
  server.create(Service, { metadata: { name: "web", namespace }, spec: { clusterIP: "10.0.0.1" } });
  server.create(Service, { metadata: { name: "kubernetes", namespace: "default" }, spec: { clusterIP: "10.0.0.2" } });
  server.create(Service, { metadata: { name: "foreign", namespace: "other" }, spec: { clusterIP: "10.0.0.3" } });
  server.create(RuntimeClass, { metadata: { name: "process" }, handler: "p" });
  server.create(PersistentVolumeClaim, { metadata: { name: "d", namespace }, status: { phase: "Bound" } });
  using store = await openStore();
  const whole = pod("a", "c");
  whole.spec?.volumes?.push({ name: "d", persistentVolumeClaim: { claimName: "d" } });
  store.putPod(whole);
  const look = async ({ objects }: Life) => ({
    configMap: (await objects.configMap(namespace, "c"))?.data?.value,
    services: (await objects.services(namespace)).map(({ metadata }) => metadata.name).sort(),
    runtimeClass: (await objects.runtimeClass("process"))?.handler,
    noRuntimeClass: await objects.runtimeClass("none"),
    claim: (await objects.claim(namespace, "d"))?.status?.phase,
    token: (await objects.token(pod("a"), { audience: "", expirationSeconds: 3600 })).token,
  });
  const expected = {
    configMap: "1",
    services: ["kubernetes", "web"],
    runtimeClass: "p",
    noRuntimeClass: undefined,
    claim: "Bound",
    token: "token-1",
  };
  await (async () => {
    await using first = new Life(server.url, store);
    first.objects.follow(pod("a", "c"));
    assert.deepEqual(await look(first), expected);
    await server.down();
    assert.deepEqual(await look(first), expected);
  })();
  await using life = new Life(server.url, store);
  life.objects.follow(pod("a", "c"));
  assert.deepEqual(await look(life), expected);
  assert.equal(life.tokensAsked.length, 0);
  await assert.rejects(life.objects.secret(namespace, "never-seen"), { code: "NODE_OBJECT_UNKNOWN" });
  server.update(ConfigMap, configMap("c", "2"));
  server.delete(Service, { name: "web", namespace });
  await server.up();
  await until(async () => (await life.objects.configMap(namespace, "c"))?.data?.value === "2");
  await until(async () => (await life.objects.services(namespace)).length === 1);
  await until(() => store.objects("Service").length === 2);
});

test("an API that takes requests and never answers holds nobody up for long", async () => {
  await using server = await FaultServer.start();
  server.create(ConfigMap, configMap("c", "1"));
  using store = await openStore();
  store.putObject({ apiVersion: "v1", kind: "ConfigMap", ...configMap("c", "stored") } as ConfigMap);
  store.putPod(pod("a", "c"));
  server.fault({ type: "silence" }, { times: 1000 });
  await using life = new Life(server.url, store, { answerMs: 60 });
  life.objects.follow(pod("a", "c"));
  assert.equal((await life.objects.configMap(namespace, "c"))?.data?.value, "stored");
  await assert.rejects(life.objects.services(namespace), { code: "NODE_LIST_UNKNOWN" });
});

test("what no pod refers to any more leaves the store, tokens too", async () => {
  await using server = await FaultServer.start();
  for (const name of ["both", "one"]) server.create(ConfigMap, configMap(name, "1"));
  using store = await openStore();
  await using life = new Life(server.url, store);
  life.objects.follow(pod("a", "both", "one"));
  life.objects.follow(pod("b", "both"));
  await life.objects.token(pod("a"), { audience: "", expirationSeconds: 3600 });
  const stored = () => store.objects("ConfigMap").map(({ metadata }) => metadata.name);
  await until(() => stored().length === 2);
  life.objects.forget("a");
  await until(() => stored().length === 1);
  assert.deepEqual(stored(), ["both"]);
  assert.deepEqual(store.tokenPods(), []);
  await until(() => server.openWatches === 2);
  life.objects.forget("b");
  await until(() => stored().length === 0);
});

test("a pod that changed is followed by what it refers to now", async () => {
  await using server = await FaultServer.start();
  using store = await openStore();
  await using life = new Life(server.url, store);
  life.objects.follow(pod("a", "old"));
  life.objects.follow(pod("a", "new"));
  await until(() => server.openWatches === 2);
  const watched = server.requests.matching({ verb: "watch" }).map(({ query }) => query.get("fieldSelector"));
  assert.ok(watched.includes("metadata.name=new"));
});

test("what was left in the store by pods that are gone is taken out at the start", async () => {
  await using server = await FaultServer.start();
  using store = await openStore();
  store.putPod(pod("a", "kept"));
  for (const name of ["kept", "stale"])
    store.putObject({ apiVersion: "v1", kind: "ConfigMap", ...configMap(name, "1") } as ConfigMap);
  store.putToken("a", "x", {});
  store.putToken("gone", "x", {});
  await using _ = new Life(server.url, store);
  assert.deepEqual(
    store.objects("ConfigMap").map(({ metadata }) => metadata.name),
    ["kept"],
  );
  assert.deepEqual(store.tokenPods(), ["a"]);
});

test("immutable objects are not watched", async () => {
  await using server = await FaultServer.start();
  server.create(ConfigMap, configMap("fixed", "1", true));
  using store = await openStore();
  await using life = new Life(server.url, store);
  life.objects.follow(pod("a", "fixed"));
  assert.equal((await life.objects.configMap(namespace, "fixed"))?.data?.value, "1");
  await life.objects.services(namespace);
  await until(() => server.openWatches === 1);
  assert.equal((await life.objects.configMap(namespace, "fixed"))?.data?.value, "1");
});

test("beyond the number of watches, objects are read now and then", async () => {
  await using server = await FaultServer.start();
  for (const name of ["w", "p"]) server.create(ConfigMap, configMap(name, "1"));
  using store = await openStore();
  await using life = new Life(server.url, store, { watches: 1, pollMs: 20 });
  life.objects.follow(pod("a", "w", "p"));
  assert.equal((await life.objects.configMap(namespace, "p"))?.data?.value, "1");
  life.told.splice(0);
  server.update(ConfigMap, configMap("p", "2"));
  await until(() => life.told.length > 0);
  assert.equal((await life.objects.configMap(namespace, "p"))?.data?.value, "2");
  assert.equal(server.requests.matching({ verb: "watch" }).filter(({ path }) => /configmaps/.test(path)).length, 1);
});

test("a pod that comes later gets what is there then, also of an object that is not watched", async () => {
  await using server = await FaultServer.start();
  server.create(ConfigMap, configMap("p", "1"));
  using store = await openStore();
  await using life = new Life(server.url, store, { watches: 0, pollMs: 3_600_000 });
  life.objects.follow(pod("a", "p"));
  assert.equal((await life.objects.configMap(namespace, "p"))?.data?.value, "1");
  server.update(ConfigMap, configMap("p", "2"));
  life.objects.follow(pod("b", "p"));
  assert.equal((await life.objects.configMap(namespace, "p"))?.data?.value, "2");
});

test("while the API is silent only the first question waits", { timeout: 60_000 }, async () => {
  await using server = await FaultServer.start();
  using store = await openStore();
  const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
  store.putPod(pod("a", ...names));
  for (const name of names)
    store.putObject({ apiVersion: "v1", kind: "ConfigMap", ...configMap(name, "stored") } as ConfigMap);
  server.fault({ type: "silence" }, { times: 1000 });
  const time = new ManualClock();
  await using life = new Life(server.url, store, { answerMs: 300, clock: time });
  life.objects.follow(pod("a", ...names));
  let answered = 0;
  const asking = (async () => {
    for (const name of names) {
      assert.equal((await life.objects.configMap(namespace, name))?.data?.value, "stored");
      answered++;
    }
  })();
  // One after the other they would wait for six seconds: they are given one, and then no more.
  for (const end = time.now() + 1_000; answered < names.length && time.now() < end; await sleep(clock, 1)) {
    await time.advance(10);
  }
  await asking;
});

test("a claim is looked at until it is bound, and its pod told then", async () => {
  await using server = await FaultServer.start();
  server.create(PersistentVolumeClaim, { metadata: { name: "d", namespace }, status: { phase: "Pending" } });
  using store = await openStore();
  await using life = new Life(server.url, store);
  const waiting = pod("a");
  life.objects.follow({
    ...waiting,
    spec: { containers: [], volumes: [{ name: "v", persistentVolumeClaim: { claimName: "d" } }] },
  });
  assert.equal((await life.objects.claim(namespace, "d"))?.status?.phase, "Pending");
  life.told.splice(0);
  server.update(PersistentVolumeClaim, { metadata: { name: "d", namespace }, status: { phase: "Bound" } });
  await until(() => life.told.includes("a"));
  assert.equal((await life.objects.claim(namespace, "d"))?.status?.phase, "Bound");
});

test("a refusal that passes, as right after a pod was bound, delays and does not fail", async () => {
  await using server = await FaultServer.start();
  server.create(Secret, { metadata: { name: "s", namespace }, data: { k: "dg==" } });
  server.fault({ type: "status", status: 403 }, { on: { verb: "list" }, times: 2 });
  using store = await openStore();
  await using life = new Life(server.url, store, { answerMs: 3_000 });
  life.objects.follow({ ...pod("a"), spec: { containers: [], volumes: [{ name: "s", secret: { secretName: "s" } }] } });
  assert.equal((await life.objects.secret(namespace, "s"))?.data?.k, "dg==");
});

test("tokens are bound to their pod, shared, kept by audience, and replaced when due", async () => {
  await using server = await FaultServer.start();
  using store = await openStore();
  await using life = new Life(server.url, store);
  const request = { audience: "", expirationSeconds: 3600 };
  const [one, same] = await Promise.all([1, 2].map(() => life.objects.token(pod("a"), request)));
  assert.equal(one?.token, same?.token);
  assert.equal(life.tokensAsked.length, 1);
  assert.deepEqual(life.tokensAsked[0]?.boundObject, { kind: "Pod", apiVersion: "v1", name: "a", uid: "a" });
  assert.equal(life.tokensAsked[0]?.audiences, undefined);
  const life80 = ((one?.refreshAt ?? 0) - clock.now()) / 3_600_000;
  assert.ok(life80 > 0.79 - 10 / 3600 && life80 <= 0.8, String(life80));
  await life.objects.token(pod("a"), { ...request, audience: "vault" });
  assert.deepEqual(life.tokensAsked[1]?.audiences, ["vault"]);
  const short = { audience: "short", expirationSeconds: 0.1 };
  const first = await life.objects.token(pod("a"), short);
  await until(() => clock.now() >= first.refreshAt);
  assert.notEqual((await life.objects.token(pod("a"), short)).token, first.token);
});

test("an old token has to do while the API is silent, even an expired one, but not when it refuses", async () => {
  await using server = await FaultServer.start();
  using store = await openStore();
  await using life = new Life(server.url, store);
  const request = { audience: "", expirationSeconds: 0.05 };
  const first = await life.objects.token(pod("a"), request);
  await until(() => clock.now() > first.expiresAt);
  life.refuseTokens = new Error("connection refused");
  const again = await life.objects.token(pod("a"), request);
  assert.equal(again.token, first.token);
  assert.ok(again.refreshAt > clock.now());
  life.refuseTokens = new ApiError({ action: "get a token", statusCode: 404, text: "no such account" });
  await assert.rejects(life.objects.token(pod("a"), request), { code: "NODE_TOKEN_UNAVAILABLE" });
});
