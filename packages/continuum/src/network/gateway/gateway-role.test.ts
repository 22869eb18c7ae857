import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { clusterConfig, KubeClient, LeaderElector, Lease } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { GATEWAY_LEASE, GatewayRole } from "./gateway-role.ts";

const NAMESPACE = "fjord-system";

/** A node whose API may be away from it. */
class Candidate {
  readonly clock = new ManualClock();
  isCutOff = false;
  /** What happens between what it reads and what it writes. */
  meanwhile: () => Promise<unknown> = async () => {};
  /** Requests under way. */
  pending = 0;
  readonly client: KubeClient;
  readonly #stop = new AbortController();
  readonly role: GatewayRole;
  readonly #running: Promise<void>;

  constructor(node: string, client: KubeClient, lanes = 1) {
    const through =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      async (...args: A) => {
        if (this.isCutOff) throw new Error("cut off");
        this.pending++;
        return await call.apply(client, args).finally(() => this.pending--);
      };
    const { get, create } = client;
    const update: typeof client.update = async (...args) => {
      await this.meanwhile();
      return await client.update(...args);
    };
    this.client = { get: through(get), create: through(create), update: through(update) } as typeof client;
    const means = { clock: this.clock, random: Math.random, logger: silentLogger };
    this.role = new GatewayRole({ ...means, client: this.client, namespace: NAMESPACE, node });
    this.role.want(lanes);
    this.#running = this.role.run(this.#stop.signal);
  }

  /** As a process that is told to end does. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async stop(): Promise<void> {
    this.isCutOff = true;
    await this.end();
  }
}

/** Nodes that share one API, and time that passes for all of them. */
async function site() {
  const server = await FaultServer.start();
  const client = new KubeClient(clusterConfig({ server: server.url }));
  const all: { clock: ManualClock; pending: number; stop(): Promise<void> }[] = [];
  const moment = () => new Promise<void>((resolve) => systemClock.after(2, resolve));
  return {
    client,
    all,
    node(name: string, lanes?: number): Candidate {
      const candidate = new Candidate(name, client, lanes);
      all.push(candidate);
      return candidate;
    },
    /** How many milliseconds it took. Requests take real time, in which no other passes. */
    async until(holds: () => boolean | Promise<boolean>): Promise<number> {
      let passed = 0;
      for (; !(await holds()); passed += 50) {
        assert.ok(passed <= 60_000, "not within a minute");
        for (const each of all) await each.clock.advance(50);
        do await moment();
        while (all.some(({ pending }) => pending > 0));
      }
      return passed;
    },
    async [Symbol.asyncDispose]() {
      for (const each of all) await each.stop();
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("Of several nodes that may carry the links of a site", () => {
  it("one does, another one when that is silent, and the first no longer once it sees that", async () => {
    await using at = await site();
    const one = at.node("one");
    await at.until(() => one.role.lanes?.length === 1);
    const other = at.node("other");
    await at.until(() => other.role.lanes?.length === 0);
    await at.until(() => one.role.heir === "other" && other.role.inherits.length === 1);
    assert.deepEqual(one.role.inherits, []);
    one.isCutOff = true;
    const ms = await at.until(() => other.role.lanes?.length === 1);
    assert.ok(ms >= 800 && ms <= 1_500, `it took ${ms} ms`);
    assert.deepEqual(one.role.lanes, [0], "nobody has told it otherwise");
    one.isCutOff = false;
    await at.until(() => one.role.lanes?.length === 0);
    assert.deepEqual(other.role.lanes, [0]);
  });

  it("each has its share of the lanes, takes what one loses that falls silent, and gives it back when that is back", async () => {
    await using at = await site();
    const one = at.node("one", 4);
    await at.until(() => one.role.lanes?.length === 4);
    const other = at.node("other", 4);
    await at.until(() => other.role.lanes?.length === 2);
    await at.until(() => one.role.lanes?.length === 2);
    assert.deepEqual(
      [one.role.lanes, other.role.lanes],
      [
        [0, 1],
        [2, 3],
      ],
    );
    one.isCutOff = true;
    const ms = await at.until(() => other.role.lanes?.length === 4);
    assert.ok(ms >= 800 && ms <= 1_700, `it took ${ms} ms`);
    one.isCutOff = false;
    await at.until(() => one.role.lanes?.length === 0);
    await at.until(() => one.role.lanes?.length === 2);
    assert.deepEqual(
      [one.role.lanes, other.role.lanes],
      [
        [2, 3],
        [0, 1],
      ],
    );
  });

  it("one that finds that others write at the same moment is not taken for silent", async () => {
    await using at = await site();
    const one = at.node("one");
    await at.until(() => one.role.lanes?.length === 1);
    const other = at.node("other");
    await at.until(() => other.role.inherits.length === 1);
    let [writes, lostAt] = [0, 0];
    one.meanwhile = async () => {
      // Somebody is faster at each look, and not when it is tried again.
      writes++;
      if (one.clock.now() === lostAt) return;
      lostAt = one.clock.now();
      const lease = await at.client.get(Lease, { name: GATEWAY_LEASE, namespace: NAMESPACE });
      const annotations = { ...lease.metadata.annotations, "example.com/faster": String(writes) };
      await at.client.update(Lease, { ...lease, metadata: { ...lease.metadata, annotations } });
    };
    let turns = 0;
    await at.until(() => {
      assert.deepEqual([one.role.lanes, other.role.lanes], [[0], []]);
      return ++turns > 100;
    });
    assert.ok(writes >= 16, `${writes} writes`);
  });

  it("one that is told to end gives its lanes away at once", async () => {
    await using at = await site();
    const one = at.node("one", 2);
    await at.until(() => one.role.lanes?.length === 2);
    const other = at.node("other", 2);
    await at.until(() => other.role.lanes?.length === 1);
    await one.end();
    at.all.shift();
    assert.ok((await at.until(() => other.role.lanes?.length === 2)) <= 500);
  });

  it("the next run on a node goes on with what the one before has left, and others leave it to that", async () => {
    await using at = await site();
    const one = at.node("one", 2);
    const other = at.node("other", 2);
    await at.until(() => one.role.lanes?.length === 1 && other.role.lanes?.length === 1);
    const mine = other.role.lanes;
    await other.stop();
    at.all.splice(1, 1);
    const again = at.node("other", 2);
    await at.until(() => again.role.lanes !== undefined);
    assert.deepEqual(again.role.lanes, mine);
    for (let i = 0; i < 100; i++) {
      await at.until(() => true);
      for (const each of at.all) await each.clock.advance(50);
      assert.equal(one.role.lanes?.length, 1);
    }
    assert.deepEqual(again.role.lanes, mine);
  });

  it("none takes anything before it knows how many lanes there are, or because its clock is set", async () => {
    await using at = await site();
    const one = at.node("one", 2);
    await at.until(() => one.role.lanes?.length === 2);
    const means = { clock: new ManualClock(), random: Math.random, logger: silentLogger };
    const idle = new GatewayRole({ ...means, client: at.client, namespace: NAMESPACE, node: "idle" });
    const stop = new AbortController();
    const running = idle.run(stop.signal);
    await means.clock.advance(3_600_000);
    assert.equal(idle.lanes, undefined);
    assert.deepEqual(one.role.lanes, [0, 1]);
    stop.abort();
    await running;
  });

  it("one of an earlier version keeps all lanes while it lives, and waits while others have them", async () => {
    await using at = await site();
    const elector = (node: string, client: Candidate) => {
      const means = { clock: client.clock, random: Math.random, logger: silentLogger };
      const timing = { leaseDurationMs: 2_000, renewDeadlineMs: 1_500, retryPeriodMs: 250 };
      return new LeaderElector({
        ...means,
        ...timing,
        client: client.client,
        namespace: NAMESPACE,
        name: GATEWAY_LEASE,
        identity: node,
      });
    };
    // Only its client and clock are used.
    const earlier = at.node("earlier");
    await earlier.end();
    await at.client.delete(Lease, { name: GATEWAY_LEASE, namespace: NAMESPACE }).catch(() => {});
    const stop = new AbortController();
    const old = elector("earlier", earlier);
    const leading = old.run(stop.signal, () => new Promise(() => {}));
    leading.catch(() => {});
    await at.until(() => old.leading);
    const one = at.node("one", 2);
    await at.until(() => one.role.lanes !== undefined);
    assert.deepEqual(one.role.lanes, []);
    for (let i = 0; i < 100; i++) {
      for (const each of at.all) await each.clock.advance(50);
      await at.until(() => true);
    }
    assert.deepEqual([old.leading, one.role.lanes], [true, []]);
    earlier.isCutOff = true;
    await at.until(() => one.role.lanes?.length === 2);
    earlier.isCutOff = false;
    const next = elector("earlier", earlier);
    void next.run(stop.signal, async () => {});
    for (let i = 0; i < 100; i++) {
      for (const each of at.all) await each.clock.advance(50);
      await at.until(() => true);
    }
    assert.deepEqual([next.leading, one.role.lanes], [false, [0, 1]]);
    stop.abort();
  });
});
