import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { type Fault, FaultServer, type Verb } from "@fjord/testbed/fault-server";
import { configMaps, runCache, until } from "./cache-harness.ts";

// Real requests in the time of a manual clock: ten minutes of the timing that ships take a second or two.

const forEver = Number.POSITIVE_INFINITY;

interface Storm {
  what: string;
  fault: Fault;
  verbs: readonly Verb[];
  /** Requests in ten minutes. With waits of up to 30 s there are about 35 attempts. */
  atMost: number;
}

const storms: Storm[] = [
  { what: "closes each watch at once", fault: { type: "close" }, verbs: ["watch"], atMost: 90 },
  { what: "resets each watch", fault: { type: "reset" }, verbs: ["watch"], atMost: 90 },
  { what: "resets everything", fault: { type: "reset" }, verbs: ["watch", "list"], atMost: 130 },
  {
    what: "takes lists and has every watch gone on open",
    fault: { type: "status", status: 410 },
    verbs: ["watch"],
    atMost: 120,
  },
  {
    what: "takes lists and has every watch gone in the stream",
    fault: { type: "gone" },
    verbs: ["watch"],
    atMost: 120,
  },
  { what: "cuts each watch in its first event", fault: { type: "truncate" }, verbs: ["watch"], atMost: 90 },
  { what: "ends each watch after one event", fault: { type: "close", afterEvents: 1 }, verbs: ["watch"], atMost: 90 },
  { what: "forbids to watch", fault: { type: "status", status: 403 }, verbs: ["watch"], atMost: 90 },
  { what: "is unavailable", fault: { type: "status", status: 503 }, verbs: ["watch", "list"], atMost: 50 },
];

describe("a server is not hammered that", { concurrency: true }, () => {
  for (const { what, fault, verbs, atMost } of storms) {
    test(what, async () => {
      const clock = new ManualClock();
      await using server = await FaultServer.start({ clock });
      await using running = runCache(server, { clock, timing: { pageSize: 2 } });
      for (const name of ["a", "b", "c"]) write(server, name);
      await running.cache.waitForSync();
      await until("a watch is open", () => server.openWatches === 1);
      server.requests.clear();
      server.fault(fault, { on: { verb: verbs }, times: forEver });
      server.breakWatches("close");
      await minutes(clock, 10, () => write(server, "a"));
      const count = server.requests.count();
      assert.ok(count <= atMost, `${count} requests, at most ${atMost} expected`);
      assert.ok(count >= 20, `${count} requests: it has given up`);
      server.heal();
      await until("health", () => {
        void clock.advance(1000);
        return running.cache.health.failures === 0;
      });
    });
  }

  test("ends each watch after six seconds", async () => {
    const clock = new ManualClock();
    await using server = await FaultServer.start({ clock });
    await using running = runCache(server, { clock, timing: {} });
    await running.cache.waitForSync();
    server.requests.clear();
    let second = 0;
    await minutes(clock, 10, () => {
      if (++second % 6 === 0) server.breakWatches("close");
    });
    assert.ok(server.requests.count() <= 220, `${server.requests.count()} requests`);
  });
});

test("a healthy server is asked for a new watch every five to ten minutes, and for nothing else", async () => {
  const clock = new ManualClock();
  await using server = await FaultServer.start({ clock });
  write(server, "a");
  await using running = runCache(server, { clock, timing: {} });
  await running.cache.waitForSync();
  await until("a watch is open", () => server.openWatches === 1);
  await minutes(clock, 31, () => server.store.advance());
  assert.equal(server.requests.count({ verb: "list" }), 1);
  const watches = server.requests.matching({ verb: "watch" });
  assert.ok(watches.length >= 4 && watches.length <= 7, `${watches.length} watches`);
  const timeouts = watches.map(({ query }) => Number(query.get("timeoutSeconds")));
  assert.ok(timeouts.every((seconds) => seconds >= 300 && seconds <= 600));
  assert.ok(new Set(timeouts).size > 1, "all the same");
  assert.equal(running.cache.health.lastError, undefined);
  assert.deepEqual(running.handler.take(), ["initial a@2"]);
});

test("a revision that is gone after a restart is listed anew at once, whatever the wait has grown to", async () => {
  const clock = new ManualClock();
  await using server = await FaultServer.start({ clock });
  write(server, "a");
  await using running = runCache(server, { clock, timing: {} });
  await running.cache.waitForSync();
  await until("a watch is open", () => server.openWatches === 1);
  await minutes(clock, 1, () => {});
  server.fault({ type: "status", status: 503 }, { times: forEver });
  server.breakWatches("reset");
  await until("failures have piled up", () => {
    void clock.advance(1000);
    return running.cache.health.failures >= 4;
  });
  server.heal();
  server.requests.clear();
  server.fault({ type: "status", status: 410 }, { on: { verb: "watch" } });
  write(server, "b");
  await until("the next attempt is made", () => {
    void clock.advance(1000);
    return server.requests.count({ verb: "watch" }) === 1;
  });
  // Time stands still from here on: a wait would never end.
  await until("what was missed is there", () => running.cache.size === 2);
});

function write(server: FaultServer, name: string): void {
  const object = { metadata: { name, namespace: "default" } };
  if (server.store.get("configmaps", `default/${name}`) === undefined) server.create(configMaps, object);
  else server.update(configMaps, object);
}

/** Lets time pass, a second at a time, with a moment between for what is under way on the sockets. */
async function minutes(clock: ManualClock, count: number, eachSecond: () => void): Promise<void> {
  for (let second = 0; second < count * 60; second++) {
    eachSecond();
    await clock.advance(1000);
    await sleep(systemClock, 1);
  }
}
