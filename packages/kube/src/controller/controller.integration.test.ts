import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { type OwnerReference, seededRandom, silentLogger, systemClock } from "@fjord/base";
import { findBinaries } from "@fjord/testbed";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { type KubernetesMinor, kubernetesSkip } from "@fjord/testbed/testing";
import { Cache } from "../cache/cache.ts";
import { isNotFound } from "../client/api-error.ts";
import { KubeClient } from "../client/client.ts";
import { ConfigMap, CoreEvent, Namespace, Secret } from "../kinds/core.ts";
import { Registry } from "../metrics/index.ts";
import { Controller, type Reconcile } from "./controller.ts";
import { EventRecorder } from "./event-recorder.ts";
import { addFinalizer, isBeingDeleted, removeFinalizer } from "./finalizers.ts";
import { Manager } from "./manager.ts";
import { prometheusMetrics } from "./prometheus-metrics.ts";
import { done } from "./result.ts";
import { owns, watches } from "./source.ts";
import { eventually } from "./test-wait.ts";

const common = { clock: systemClock, random: Math.random, logger: silentLogger };
const finalizer = "fjord.dev/mirror";

for (const kubernetes of ["1.36", "1.35"] satisfies KubernetesMinor[]) {
  describe(`controllers on Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes) }, () => tests(kubernetes));
}

function tests(kubernetes: KubernetesMinor): void {
  let site: SharedTestSite;
  let client: KubeClient;
  let count = 0;

  before(async () => {
    site = await sharedTestSite({ kubernetes });
    client = new KubeClient(site.config);
  });
  after(async () => {
    await client?.close();
  });

  /** A manager with one controller that mirrors each config map of a new namespace into a secret that it owns. */
  async function startMirror(hooks: { before?: Reconcile; finalize?: (map: ConfigMap) => Promise<void> } = {}) {
    const namespace = `mirror-${++count}`;
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const configMaps = new Cache({ ...common, client, kind: ConfigMap, scope: { namespace } });
    const secrets = new Cache({ ...common, client, kind: Secret, scope: { namespace } });
    const registry = new Registry();
    const metrics = prometheusMetrics(registry);
    const events = new EventRecorder({ ...common, client, component: "mirror", metrics });
    const reconcile: Reconcile = async (request, context) => {
      await hooks.before?.(request, context);
      const { signal } = context;
      let map = configMaps.get(request);
      if (map === undefined) {
        if (secrets.get(request) !== undefined) {
          await client.delete(Secret, request, { signal }).catch((error) => assert.ok(isNotFound(error), error));
        }
        return done();
      }
      if (isBeingDeleted(map)) {
        await hooks.finalize?.(map);
        await removeFinalizer(client, ConfigMap, map, finalizer, { signal });
        return done();
      }
      if (hooks.finalize) map = await addFinalizer(client, ConfigMap, map, finalizer, { signal });
      await client.apply(Secret, mirrorOf(map), { fieldManager: "mirror", force: true, signal });
      events.event(map, { type: "Normal", reason: "Mirrored", message: "The secret is as the config map" });
      return done();
    };
    const sources = [watches(configMaps), owns(secrets, ConfigMap)];
    const backoff = { initial: 20, max: 500 };
    const controller = new Controller({
      ...common,
      name: "mirror",
      sources,
      reconcile,
      concurrency: 4,
      metrics,
      backoff,
    });
    const manager = new Manager({ ...common, gracePeriodMs: 5_000 })
      .addCache(configMaps)
      .addCache(secrets)
      .add(events)
      .add(controller);
    const stop = new AbortController();
    const run = manager.run(stop.signal);
    run.catch(() => {});
    await eventually("the manager is ready", async () => (await manager.ready.report()).ok);
    const put = (name: string, value: string) => client.apply(ConfigMap, mapOf(namespace, name, value), applyOptions);
    const end = async () => {
      stop.abort();
      await run;
    };
    return { namespace, registry, stop, run, put, [Symbol.asyncDispose]: end };
  }

  async function contents(namespace: string): Promise<{ maps: unknown; secrets: unknown }> {
    const [maps, secrets] = await Promise.all([
      client.list(ConfigMap, { namespace }),
      client.list(Secret, { namespace }),
    ]);
    const decode = ({ data = {} }: Secret) => Buffer.from(data.value ?? "", "base64").toString();
    return {
      maps: Object.fromEntries(maps.items.map((map) => [map.metadata.name, map.data?.value])),
      secrets: Object.fromEntries(secrets.items.map((secret) => [secret.metadata.name, decode(secret)])),
    };
  }

  test("the world becomes as wanted under churn, whoever changes what", async () => {
    await using mirror = await startMirror();
    const { namespace, registry, put } = mirror;
    const random = seededRandom(count);
    const names = Array.from({ length: 12 }, (_, index) => `map-${index}`);
    for (let step = 0; step < 120; step++) {
      const name = names[Math.floor(random() * names.length)] ?? "";
      const dice = random();
      const gone = (error: unknown) => assert.ok(isNotFound(error), String(error));
      if (dice < 0.6) await put(name, `value-${step}`);
      else if (dice < 0.75) await client.delete(ConfigMap, { name, namespace }).catch(gone);
      else if (dice < 0.9) await client.delete(Secret, { name, namespace }).catch(gone);
      else await client.patch(Secret, { name, namespace }, "merge", { data: { value: "dGFtcGVyZWQ=" } }).catch(gone);
    }
    await put("map-0", "last");
    await eventually("each config map has its secret, and nothing else has", async () => {
      const { maps, secrets } = await contents(namespace);
      return JSON.stringify(sorted(maps)) === JSON.stringify(sorted(secrets));
    });
    const { maps } = await contents(namespace);
    assert.equal((maps as Record<string, string>)["map-0"], "last");
    const text = await registry.metrics();
    assert.match(text, /controller_runtime_reconcile_total\{controller="mirror",result="success"\} [1-9]/);
  });

  test("a deletion waits until the finalizer's work is done", async () => {
    const finalized: string[] = [];
    const allowed = Promise.withResolvers<void>();
    await using mirror = await startMirror({
      finalize: async ({ metadata }) => {
        await allowed.promise;
        finalized.push(metadata.name ?? "");
      },
    });
    const { namespace, put } = mirror;
    await put("kept", "x");
    const key = { name: "kept", namespace };
    const has = async () => (await client.get(ConfigMap, key)).metadata.finalizers?.includes(finalizer) ?? false;
    await eventually("the finalizer is there", has);
    await client.delete(ConfigMap, key);
    assert.ok((await client.get(ConfigMap, key)).metadata.deletionTimestamp, "still there, marked for deletion");
    assert.deepEqual(finalized, []);
    allowed.resolve();
    const gone = async () => (await client.list(ConfigMap, { namespace })).items.length === 0;
    await eventually("the config map is gone", gone);
    // Possibly more than once: a cache that lags behind shows the object again. Finalizing must bear that.
    assert.deepEqual([...new Set(finalized)], ["kept"]);
  });

  test("repeated events are one event with a count, which kubectl describe shows", async () => {
    await using mirror = await startMirror();
    const { namespace, put } = mirror;
    const events = async () => (await client.list(CoreEvent, { namespace })).items;
    for (let turn = 1; turn <= 4; turn++) {
      await put("told", `value-${turn}`);
      await eventually(`the event counts ${turn}`, async () => ((await events())[0]?.count ?? 0) >= turn);
    }
    assert.equal((await events()).length, 1);
    const { binaries } = findBinaries({ env: process.env, minors: [kubernetes] });
    const args = ["--kubeconfig", site.kubeconfig, "-n", namespace, "describe", "configmap", "told"];
    const { stdout } = await promisify(execFile)(binaries.path("kubectl", kubernetes), args);
    assert.match(stdout, /Normal +Mirrored +\S+ \(x\d+ over .*\) +mirror +The secret is as the config map/);
  });

  test("another run of the same program counts on in the event of the first", async () => {
    const namespace = `mirror-${++count}`;
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const map = await client.create(ConfigMap, mapOf(namespace, "told", "x"));
    for (let run = 0; run < 3; run++) {
      const recorder = new EventRecorder({ ...common, client, component: "mirror" });
      recorder.event(map, { type: "Normal", reason: "Mirrored", message: "The secret is as the config map" });
      await recorder.run(AbortSignal.abort());
    }
    const { items } = await client.list(CoreEvent, { namespace });
    assert.deepEqual(
      items.map((event) => event.count),
      [3],
    );
  });

  test("a stop finishes the work in hand, tells its event, and begins nothing new", async () => {
    const begun: string[] = [];
    const finish = Promise.withResolvers<void>();
    await using mirror = await startMirror({
      before: async ({ name }) => {
        begun.push(name);
        await finish.promise;
        return done();
      },
    });
    const { namespace, put, stop, run } = mirror;
    for (let index = 0; index < 6; index++) await put(`map-${index}`, "x");
    await eventually("all four workers are busy", () => begun.length === 4);
    stop.abort();
    finish.resolve();
    await run;
    const { secrets } = await contents(namespace);
    assert.deepEqual(Object.keys(secrets as object).sort(), begun.sort());
    const told = (await client.list(CoreEvent, { namespace })).items.map(({ involvedObject }) => involvedObject.name);
    assert.deepEqual(told.sort(), begun);
  });
}

const applyOptions = { fieldManager: "test", force: true };

function mapOf(namespace: string, name: string, value: string): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { value } };
}

function mirrorOf({ metadata, data }: ConfigMap): Secret {
  const { name = "", namespace = "", uid = "" } = metadata;
  const owner: OwnerReference = { apiVersion: "v1", kind: "ConfigMap", name, uid, controller: true };
  const value = Buffer.from(data?.value ?? "").toString("base64");
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, ownerReferences: [owner] },
    data: { value },
  };
}

function sorted(record: unknown): [string, unknown][] {
  return Object.entries(record as object).sort(([a], [b]) => (a < b ? -1 : 1));
}
