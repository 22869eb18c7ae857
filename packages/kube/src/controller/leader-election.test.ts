import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { aborted, type Clock, seededRandom, silentLogger, sleep } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import fc from "fast-check";
import { Lease } from "../kinds/coordination.ts";
import { LeaderElector } from "./leader-election.ts";
import { refusal, TestApi } from "./test-api.ts";

const timing = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/** Candidates for one lease, and a check that no two of them lead at the same time. */
class Election {
  readonly clock = new ManualClock();
  readonly api = new TestApi();
  readonly leaders = new Set<string>();
  readonly history: string[] = [];
  readonly outcomes = new Map<string, unknown>();

  /** `workMs` is how long its work takes to end after a loss; `skewMs` how wrong its clock is. */
  join(identity: string, { skewMs = 0, workMs = 0, seed = 1, client = this.api as TestApi } = {}) {
    const stop = new AbortController();
    const clock: Clock = { now: () => this.clock.now() + skewMs, after: (ms, call) => this.clock.after(ms, call) };
    const elector = new LeaderElector({
      client,
      namespace: "default",
      name: "agent",
      identity,
      ...timing,
      clock,
      random: seededRandom(seed),
      logger: silentLogger,
    });
    const run = elector
      .run(stop.signal, async (stopped) => {
        assert.deepEqual([...this.leaders], [], `${identity} leads beside another`);
        this.leaders.add(identity);
        this.history.push(identity);
        await aborted(stopped);
        if (workMs > 0) await sleep(this.clock, workMs);
        this.leaders.delete(identity);
      })
      .then(
        () => this.outcomes.set(identity, "stopped"),
        (error) => this.outcomes.set(identity, error),
      );
    return { elector, stop, run };
  }

  /** A client of one candidate that can be cut off from the API. */
  lineOf(): TestApi & { cut: boolean; silent: boolean } {
    const line = Object.create(this.api) as TestApi & { cut: boolean; silent: boolean };
    for (const verb of ["get", "create", "update"] as const) {
      const call = this.api[verb].bind(this.api) as (...args: unknown[]) => Promise<unknown>;
      Object.assign(line, {
        [verb]: async (...args: unknown[]) => {
          if (line.cut) throw new Error("connection refused");
          const { signal } = args[2] as { signal: AbortSignal };
          if (line.silent) {
            await aborted(signal);
            throw signal.reason;
          }
          return call(...args);
        },
      });
    }
    return line;
  }

  async until(condition: () => boolean): Promise<void> {
    for (let turn = 0; turn < 600 && !condition(); turn++) await this.clock.advance(100);
    assert.ok(condition(), "not within a minute");
  }

  get lease() {
    return this.api.all(Lease)[0]?.spec;
  }
}

describe("LeaderElector", () => {
  test("never takes a lease early, however long it was taken for", async () => {
    for (const leaseDurationSeconds of [3_000_000, 2 ** 31 - 1]) {
      const election = new Election();
      const spec = { holderIdentity: "ghost", leaseDurationSeconds, renewTime: "2030-01-01T00:00:00.000000Z" };
      const metadata = { name: "agent", namespace: "default" };
      election.api.put(Lease, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec });
      const { stop, run } = election.join("a");
      for (let minute = 0; minute < 3; minute++) await election.clock.advance(60_000);
      assert.equal(election.lease?.holderIdentity, "ghost");
      stop.abort();
      await run;
    }
  });

  test("the first candidate leads at once; another follows at once when it stops and frees the lease", async () => {
    const election = new Election();
    const first = election.join("first");
    await election.clock.advance(0);
    assert.deepEqual([...election.leaders], ["first"]);
    assert.equal(first.elector.leading, true);
    const second = election.join("second", { seed: 2 });
    await election.clock.advance(60_000);
    assert.deepEqual(election.history, ["first"]);
    assert.match(second.elector.holder ?? "", /^first_[0-9a-f]{12}$/);
    first.stop.abort();
    await first.run;
    assert.equal(election.lease?.holderIdentity, undefined);
    await election.clock.advance(timing.retryPeriodMs * 1.2);
    assert.deepEqual([...election.leaders], ["second"]);
    assert.equal(election.lease?.leaseTransitions, 1);
    second.stop.abort();
    await second.run;
    assert.equal(election.clock.pending, 0, "no timer left behind");
  });

  test("two candidates that were given the same identity do not both lead", async () => {
    const election = new Election();
    const first = election.join("twin", { seed: 1 });
    const second = election.join("twin", { seed: 2 });
    await election.clock.advance(60_000);
    assert.deepEqual(election.history, ["twin"]);
    assert.deepEqual([...election.outcomes], [], "the other neither led nor ended");
    for (const { stop, run } of [first, second]) {
      stop.abort();
      await run;
    }
  });

  test("a lease that somebody freed is lost, and is said to be free", async () => {
    const election = new Election();
    const { run } = election.join("leader");
    await election.clock.advance(1_000);
    const [lease] = election.api.all(Lease);
    assert.ok(lease);
    election.api.put(Lease, { ...lease, spec: { ...lease.spec, holderIdentity: "" } });
    await election.clock.advance(15_000);
    await run;
    assert.match(String(election.outcomes.get("leader")), /: somebody freed it$/);
  });

  test("holds the lease until its work has ended", async () => {
    const election = new Election();
    const first = election.join("first", { workMs: 40_000 });
    election.join("second");
    await election.clock.advance(5_000);
    first.stop.abort();
    await election.clock.advance(39_000);
    assert.deepEqual(election.history, ["first"]);
    await election.clock.advance(5_000);
    assert.deepEqual(election.history, ["first", "second"]);
  });

  test("a leader that cannot renew stops before others may begin, and says why", async () => {
    const election = new Election();
    const line = election.lineOf();
    const cutOff = election.join("cut-off", { client: line, workMs: 1_000 });
    await election.clock.advance(0);
    election.join("other");
    await election.clock.advance(30_000);
    line.cut = true;
    const cutAt = election.clock.now();
    await election.until(() => !election.leaders.has("cut-off"));
    assert.ok(election.clock.now() - cutAt <= timing.renewDeadlineMs + 1_100);
    await cutOff.run;
    assert.match(
      String(election.outcomes.get("cut-off")),
      /lost the leadership held by lease default\/agent: it was not/,
    );
    await election.until(() => election.leaders.has("other"));
    assert.ok(election.clock.now() - cutAt <= timing.leaseDurationMs + 2 * timing.retryPeriodMs * 1.2);
  });

  test("a server that takes requests and never answers counts as one that cannot be reached", async () => {
    const election = new Election();
    const line = election.lineOf();
    const stuck = election.join("stuck", { client: line });
    await election.clock.advance(5_000);
    line.silent = true;
    await election.clock.advance(timing.renewDeadlineMs);
    assert.equal(election.leaders.size, 0);
    await stuck.run;
  });

  test("a leader rides out failures shorter than its deadline", async () => {
    const election = new Election();
    const line = election.lineOf();
    election.join("leader", { client: line });
    await election.clock.advance(0);
    election.join("other");
    for (let turn = 0; turn < 5; turn++) {
      await election.clock.advance(10_000);
      line.cut = true;
      await election.clock.advance(5_000);
      line.cut = false;
    }
    await election.clock.advance(20_000);
    assert.deepEqual(election.history, ["leader"]);
  });

  test("a leader that somebody else's write overtook keeps leading if the lease is still its own", async () => {
    const election = new Election();
    election.join("leader");
    await election.clock.advance(1_000);
    const [lease] = election.api.all(Lease);
    assert.ok(lease);
    election.api.put(Lease, { ...lease, metadata: { ...lease.metadata, labels: { touched: "yes" } } });
    await election.clock.advance(30_000);
    assert.deepEqual([...election.leaders], ["leader"]);
    assert.equal(election.api.all(Lease)[0]?.metadata.labels?.touched, "yes");
  });

  test("a leader that finds another's name in the lease stops at once", async () => {
    const election = new Election();
    const { run } = election.join("leader");
    await election.clock.advance(1_000);
    const [lease] = election.api.all(Lease);
    assert.ok(lease);
    election.api.put(Lease, { ...lease, spec: { ...lease.spec, holderIdentity: "usurper" } });
    await election.clock.advance(timing.retryPeriodMs);
    await run;
    assert.match(String(election.outcomes.get("leader")), /usurper holds it/);
  });

  test("a lease left by a dead process is waited for by this clock, whatever times are written in it", async () => {
    for (const written of ["2000-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"]) {
      const election = new Election();
      election.api.put(Lease, {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "agent", namespace: "default" },
        spec: { holderIdentity: "dead", leaseDurationSeconds: 15, renewTime: written, acquireTime: written },
      });
      election.join("alive");
      await election.clock.advance(14_999);
      assert.equal(election.leaders.size, 0, written);
      await election.clock.advance(2_500);
      assert.equal(election.leaders.size, 1, written);
    }
  });

  test("what the work rejects with comes out, and the lease is freed", async () => {
    const election = new Election();
    const never = new AbortController().signal;
    const own = new LeaderElector({
      client: election.api,
      namespace: "default",
      name: "agent",
      identity: "me",
      clock: election.clock,
      random: () => 0,
      logger: silentLogger,
    });
    await assert.rejects(
      own.run(never, async () => {
        throw new Error("out of memory");
      }),
      /out of memory/,
    );
    assert.deepEqual([election.lease?.leaseDurationSeconds, election.lease?.holderIdentity], [1, undefined]);
  });

  test("refuses times that could make two leaders", () => {
    const election = new Election();
    const make = (wrong: Partial<typeof timing>) => () =>
      new LeaderElector({
        client: election.api,
        namespace: "default",
        name: "agent",
        identity: "me",
        ...timing,
        ...wrong,
        clock: election.clock,
        random: () => 0,
        logger: silentLogger,
      });
    assert.throws(make({ renewDeadlineMs: 15_000 }), /would end before the renew deadline/);
    assert.throws(make({ retryPeriodMs: 9_000 }), /leaves no retry/);
    assert.throws(make({ retryPeriodMs: 0 }), /is no time/);
  });
});

test("never two leaders at once, whatever the clocks, the network and the candidates do", async () => {
  const someCandidate = fc.record({ skewMs: fc.integer({ min: -1e9, max: 1e9 }), seed: fc.nat(), dies: fc.boolean() });
  const someTrouble = fc.array(fc.record({ from: fc.nat(120_000), ms: fc.nat(30_000), line: fc.nat(2) }), {
    maxLength: 8,
  });
  let led = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(someCandidate, { minLength: 3, maxLength: 3 }),
      someTrouble,
      fc.integer({ min: 0, max: 3_000 }),
      fc.nat(),
      async (candidates, troubles, latencyMs, seed) => {
        const election = new Election();
        const random = seededRandom(seed);
        election.api.onCall = async () => {
          await sleep(election.clock, latencyMs * random());
          if (random() < 0.05) throw refusal(500, "InternalError");
        };
        const lines = candidates.map(() => election.lineOf());
        const broken: unknown[] = [];
        const join = (at: number, generation: number) => {
          const candidate = candidates[at];
          const line = lines[at];
          if (candidate === undefined || line === undefined || election.clock.now() > end) return;
          const joined = election.join(`${at}.${generation}`, { ...candidate, client: line, workMs: 2_000 });
          void joined.run.then(() => {
            const outcome = election.outcomes.get(`${at}.${generation}`);
            if (outcome instanceof assert.AssertionError) broken.push(outcome);
            join(at, generation + 1);
          });
          if (candidate.dies) election.clock.after(20_000 + 10_000 * at, () => joined.stop.abort());
        };
        const end = election.clock.now() + 150_000;
        for (const at of candidates.keys()) join(at, 0);
        for (const { from, ms, line } of troubles) {
          const cut = lines[line];
          if (cut === undefined) continue;
          election.clock.after(from, () => {
            cut.cut = true;
          });
          election.clock.after(from + ms, () => {
            cut.cut = false;
          });
        }
        await election.clock.advance(150_000);
        assert.deepEqual(broken, []);
        led += election.history.length;
      },
    ),
    { numRuns: 100 },
  );
  assert.ok(led > 100, "somebody led in most of the runs");
});
