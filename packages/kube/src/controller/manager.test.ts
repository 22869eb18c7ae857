import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { aborted, silentLogger, sleep } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { Cache } from "../cache/cache.ts";
import { SharedCaches } from "../cache/shared-caches.ts";
import { ConfigMap } from "../kinds/core.ts";
import { LeaderElector } from "./leader-election.ts";
import { Manager, type ManagerOptions } from "./manager.ts";
import type { Runnable } from "./runnable.ts";
import { TestApi } from "./test-api.ts";

class World {
  readonly clock = new ManualClock();
  readonly api = new TestApi();
  readonly log: string[] = [];
  readonly stop = new AbortController();
  readonly manager: Manager;

  constructor({ elects = false, ...options }: Partial<ManagerOptions> & { elects?: boolean } = {}) {
    const { clock } = this;
    const leaderElection = new LeaderElector({
      client: this.api,
      namespace: "default",
      name: "agent",
      identity: "me",
      clock,
      random: () => 0,
      logger: silentLogger,
    });
    this.manager = new Manager({ clock, logger: silentLogger, ...(elects && { leaderElection }), ...options });
  }

  /** A runnable that writes down its life; `windUpMs` is how long it takes to stop, unless abandoned. */
  runnable(
    name: string,
    { windUpMs = 0, deaf = false, ...options }: Partial<Runnable> & { windUpMs?: number; deaf?: boolean } = {},
  ): Runnable {
    return {
      name,
      run: async (stop, abandon) => {
        this.log.push(`${name} starts`);
        await aborted(stop);
        if (deaf) await new Promise(() => {});
        if (windUpMs > 0) await sleep(this.clock, windUpMs, abandon);
        this.log.push(`${name} ${abandon.aborted ? "drops its work" : "stops"}`);
      },
      ...options,
    };
  }

  cache(name: string, synced: Promise<void>, windUpMs = 0) {
    return {
      kind: { kind: name },
      run: (signal: AbortSignal) => this.runnable(name, { windUpMs }).run(signal, new AbortController().signal),
      waitForSync: (signal: AbortSignal) =>
        Promise.race([synced, aborted(signal).then(() => Promise.reject(new Error("403 Forbidden")))]),
    };
  }
}

describe("Manager", () => {
  test("starts in order, each when what it needs is there, and stops in the opposite order", async () => {
    const world = new World({ elects: true });
    const synced = Promise.withResolvers<void>();
    world.manager
      .add(world.runnable("controller", { needsLeaderElection: true, windUpMs: 10 }))
      .add(world.runnable("server", { windUpMs: 10 }))
      .add(world.runnable("recorder", { early: true, windUpMs: 10 }))
      .addCache(world.cache("Pod", synced.promise, 10));
    const run = world.manager.run(world.stop.signal);
    await world.clock.advance(1000);
    assert.deepEqual(world.log, ["recorder starts", "Pod starts"]);
    assert.equal((await world.manager.ready.report()).ok, false);
    synced.resolve();
    await world.clock.advance(0);
    assert.deepEqual(world.log.splice(0), ["recorder starts", "Pod starts", "server starts", "controller starts"]);
    assert.equal((await world.manager.ready.report()).ok, true);
    world.stop.abort();
    await world.clock.advance(100);
    await run;
    assert.deepEqual(world.log.slice(0, 2).sort(), ["controller stops", "server stops"]);
    assert.deepEqual(world.log.slice(2), ["Pod stops", "recorder stops"]);
    assert.match(world.api.calls.at(-1) ?? "", /^update Lease/, "freed for others");
    assert.equal(world.clock.pending, 0);
  });

  test("without leadership only what needs none runs, and a stop is quick", async () => {
    const world = new World({ elects: true });
    world.api.onCall = () => {
      throw new Error("connection refused");
    };
    world.manager.add(world.runnable("controller", { needsLeaderElection: true })).add(world.runnable("server"));
    const run = world.manager.run(world.stop.signal);
    await world.clock.advance(60_000);
    assert.deepEqual(world.log, ["server starts"]);
    world.stop.abort();
    await run;
  });

  test("a crash of one stops all the others and comes out", async () => {
    const world = new World();
    const crash = new Error("disk on fire");
    world.manager.add(world.runnable("server", { windUpMs: 500 })).add({
      name: "crasher",
      run: async () => {
        await sleep(world.clock, 1000);
        throw crash;
      },
    });
    const run = world.manager.run(world.stop.signal);
    const rejected = assert.rejects(run, (error) => error === crash);
    await world.clock.advance(2000);
    await rejected;
    assert.deepEqual(world.log, ["server starts", "server stops"]);
  });

  test("one that ends early with success stops nothing", async () => {
    const world = new World();
    world.manager.add({ name: "task", run: async () => {} }).add(world.runnable("server"));
    const run = world.manager.run(world.stop.signal);
    await world.clock.advance(1000);
    assert.deepEqual(world.log, ["server starts"]);
    world.stop.abort();
    await run;
  });

  test("work that outlasts the grace period is told to drop everything", async () => {
    const world = new World({ gracePeriodMs: 5_000 });
    world.manager.add(world.runnable("slow", { windUpMs: 60_000 }));
    const run = world.manager.run(world.stop.signal);
    await world.clock.advance(0);
    world.stop.abort();
    await world.clock.advance(5_000);
    await run;
    assert.deepEqual(world.log, ["slow starts", "slow drops its work"]);
  });

  test("what does not stop even then is named, and no longer waited for", async () => {
    const world = new World({ gracePeriodMs: 5_000 });
    world.manager.add(world.runnable("deaf", { deaf: true })).add(world.runnable("good"));
    const run = world.manager.run(world.stop.signal);
    const rejected = assert.rejects(run, { message: "gave up waiting after 7 s for these to stop: deaf" });
    await world.clock.advance(0);
    world.stop.abort();
    await world.clock.advance(7_000);
    await rejected;
  });

  test("lost leadership drops the leader's work at once, without grace", async () => {
    const world = new World({ elects: true, gracePeriodMs: 600_000 });
    world.manager.add(world.runnable("controller", { needsLeaderElection: true, windUpMs: 60_000 }));
    const run = world.manager.run(world.stop.signal);
    const rejected = assert.rejects(run, { code: "KUBE_LEADERSHIP_LOST" });
    await world.clock.advance(1_000);
    world.api.onCall = () => {
      throw new Error("connection refused");
    };
    await world.clock.advance(10_000);
    await rejected;
    assert.deepEqual(world.log, ["controller starts", "controller drops its work"]);
  });

  test("a controller that ignores the loss is not waited for beyond the lease", async () => {
    const world = new World({ elects: true, gracePeriodMs: 600_000 });
    world.manager.add(world.runnable("deaf", { needsLeaderElection: true, deaf: true }));
    const run = world.manager.run(world.stop.signal);
    const rejected = assert.rejects(run, { code: "KUBE_LEADERSHIP_LOST" });
    await world.clock.advance(0);
    world.api.onCall = () => {
      throw new Error("connection refused");
    };
    await world.clock.advance(15_000);
    await rejected;
  });

  test("caches that do not sync are an error with a reason; nothing else was started", async () => {
    const world = new World({ syncTimeoutMs: 9_000 });
    world.manager.addCache(world.cache("Pod", new Promise(() => {}))).add(world.runnable("server"));
    const rejected = assert.rejects(world.manager.run(world.stop.signal), {
      message: "the manager gave up after 9 s waiting for its caches: 403 Forbidden",
    });
    await world.clock.advance(9_000);
    await rejected;
    assert.deepEqual(world.log, ["Pod starts", "Pod stops"]);
  });

  test("a stop while caches sync is no error", async () => {
    const world = new World();
    world.manager.addCache(world.cache("Pod", new Promise(() => {})));
    const run = world.manager.run(world.stop.signal);
    await world.clock.advance(10);
    world.stop.abort();
    await run;
  });

  test("caches and shared caches can be managed as they are", () => {
    const { manager, clock } = new World();
    const client = { list: () => assert.fail(), watch: () => assert.fail() };
    const common = { client, clock, random: () => 0, logger: silentLogger };
    manager.addCache(new Cache({ ...common, kind: ConfigMap })).addCache(new SharedCaches(common));
  });

  test("takes nothing more once started", async () => {
    const world = new World();
    world.stop.abort();
    await world.manager.run(world.stop.signal);
    assert.throws(() => world.manager.add(world.runnable("late")), /cannot add late: the manager has been started/);
    await assert.rejects(world.manager.run(world.stop.signal), /cannot run it again/);
  });
});
