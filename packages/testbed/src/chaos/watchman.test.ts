import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Contract } from "@fjord/api";
import { seededRandom, systemClock } from "@fjord/base";
import { clusterConfig, KubeClient } from "@fjord/kube";
import { FaultServer } from "../fault-server/index.ts";
import { SHARED_CPU, SHARED_PODS } from "./topology.ts";
import { Watchman } from "./watchman.ts";

function promise(id: string): Contract {
  const terms = { id, resources: { cpu: SHARED_CPU, pods: SHARED_PODS } };
  const metadata = { name: id };
  const status = { phase: "Active", side: "Provider" };
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "Contract",
    metadata,
    spec: { terms, standing: "Open" },
    status,
  } as never;
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    assert.ok(tries < 1_000, "it did not happen");
    await sleep(10);
  }
}

test("contracts of which one went and one came while nothing could be seen are not counted together", async () => {
  await using server = await FaultServer.start();
  server.create(Contract, promise("before"));
  const alarms: string[] = [];
  const watchman = new Watchman({
    clients: new Map([["site-1", new KubeClient(clusterConfig({ server: server.url }))]]),
    clock: systemClock,
    random: seededRandom(1),
    alarm: (finding) => alarms.push(finding),
  });
  const stop = new AbortController();
  const running = watchman.run(stop.signal);
  try {
    await watchman.waitForSync(stop.signal);
    await server.down();
    server.delete(Contract, { name: "before" });
    server.create(Contract, promise("after"));
    server.store.compact();
    await server.up();
    await until(() => watchman.predecessors.has("after"));
    await sleep(50);
    assert.deepEqual(alarms, []);
    server.create(Contract, promise("too-much"));
    await until(() => alarms.length > 0);
    assert.match(alarms[0] ?? "", /site-1 promises 80 cpu and shares 40: .*after Active 40, too-much Active 40/);
  } finally {
    stop.abort();
    await running;
  }
});
