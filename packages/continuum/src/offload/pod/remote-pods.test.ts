import assert from "node:assert/strict";
import { test } from "node:test";
import { ORIGIN_UID_LABEL, type ShadowPod } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { ConnectionError, clusterConfig, KubeClient, Pod } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { hasObserved, RemotePods } from "./remote-pods.ts";

const shadow = { metadata: { name: "web", generation: 2 } } as unknown as ShadowPod;

function guest(made: string, generation?: number, observedGeneration?: number): Pod {
  const metadata = { name: "web", generation, annotations: { "fjord.dev/shadow-generation": made } };
  return { metadata, status: { observedGeneration } } as unknown as Pod;
}

test("a guest is what was asked for once it was made like that and its node knows it", () => {
  assert.equal(hasObserved(guest("1", 1, 1), shadow), false);
  assert.equal(hasObserved(guest("2", 2, 1), shadow), false);
  assert.equal(hasObserved(guest("2", 2, 2), shadow), true);
});

test("a provider whose pods tell nothing of generations is taken at its word", () => {
  assert.equal(hasObserved(guest("2", 2), shadow), true);
  assert.equal(hasObserved(guest("2"), shadow), true);
  assert.equal(hasObserved(guest("nonsense", 2, 2), shadow), false);
});

test("the guest of an earlier pod is told from a pod's own also before the list of guests is there", async () => {
  await using server = await FaultServer.start();
  await using client = new KubeClient(clusterConfig({ server: server.url }));
  const synced = Promise.withResolvers<void>();
  const means = { clock: systemClock, random: Math.random, logger: silentLogger, client };
  const remote = new RemotePods({ ...means, onChange: () => {}, onSync: synced.resolve });
  const stop = new AbortController();
  const hasAnothers = (uid: string) => remote.hasAnothers(uid, "twin", "db-0", stop.signal);
  assert.equal(await hasAnothers("later"), false);
  server.create(Pod, { metadata: { name: "db-0", namespace: "twin", labels: { [ORIGIN_UID_LABEL]: "earlier" } } });
  assert.deepEqual([await hasAnothers("later"), await hasAnothers("earlier")], [true, false]);
  await server.down();
  await assert.rejects(async () => hasAnothers("later"), ConnectionError);
  await server.up();
  remote.start(stop.signal);
  await synced.promise;
  await server.down();
  assert.deepEqual([await hasAnothers("later"), await hasAnothers("earlier")], [true, false], "nobody has to be asked");
  stop.abort();
  await remote.stop();
});
