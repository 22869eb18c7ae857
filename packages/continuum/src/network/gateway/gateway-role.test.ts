import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { clusterConfig, KubeClient } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { GatewayRole } from "./gateway-role.ts";

/** A node whose API may be away from it. */
class Candidate {
  readonly clock = new ManualClock();
  isCutOff = false;
  /** Requests under way. */
  pending = 0;
  readonly #stop = new AbortController();
  readonly role: GatewayRole;
  readonly #running: Promise<void>;

  constructor(node: string, client: KubeClient) {
    const through =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      async (...args: A) => {
        if (this.isCutOff) throw new Error("cut off");
        this.pending++;
        return await call.apply(client, args).finally(() => this.pending--);
      };
    const { get, create, update } = client;
    const reached = { get: through(get), create: through(create), update: through(update) } as typeof client;
    const means = { clock: this.clock, random: Math.random, logger: silentLogger };
    this.role = new GatewayRole({ ...means, client: reached, namespace: "fjord-system", node });
    this.#running = this.role.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.isCutOff = true;
    this.#stop.abort();
    await this.#running;
  }
}

describe("Of several nodes that may carry the links of a site", () => {
  it("one does, another one when that is silent for two seconds, and the first no longer once it sees that", async () => {
    await using server = await FaultServer.start();
    await using client = new KubeClient(clusterConfig({ server: server.url }));
    const one = new Candidate("one", client);
    const all = [one];
    const moment = () => new Promise<void>((resolve) => systemClock.after(2, resolve));
    /** Requests take real time, in which no other passes. */
    const until = async (holds: () => boolean) => {
      for (let passed = 0; !holds(); passed += 50) {
        assert.ok(passed <= 60_000, "not within a minute");
        for (const each of all) await each.clock.advance(50);
        do await moment();
        while (all.some(({ pending }) => pending > 0));
      }
    };
    try {
      await until(() => one.role.carries === true);
      const other = new Candidate("other", client);
      all.push(other);
      await until(() => other.role.carries === false);
      one.isCutOff = true;
      await until(() => other.role.carries === true);
      assert.equal(one.role.carries, true, "nobody has told it otherwise");
      one.isCutOff = false;
      await until(() => one.role.carries === false);
      assert.equal(other.role.carries, true);
    } finally {
      for (const each of all) await each.stop();
    }
  });
});
