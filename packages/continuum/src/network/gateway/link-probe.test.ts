import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { linkAddress } from "../link-address.ts";
import { LinkProbe, type OpenProbeSocket } from "./link-probe.ts";

/** Two gateways with a wire between, which may lose packets and takes its time. */
class Wire {
  readonly clock = new ManualClock(0);
  largest = 9_000;
  cut = false;
  delayMs = 10;
  #heard = new Map<string, (bytes: Buffer, from: string) => void>();

  readonly open: OpenProbeSocket = async (address, heard) => {
    this.#heard.set(address, heard);
    return {
      send: (bytes, to) => {
        if (this.cut || bytes.length + 48 > this.largest) return;
        this.clock.after(this.delayMs, () => this.#heard.get(to)?.(bytes, address));
      },
      close: () => this.#heard.delete(address),
    };
  };

  probe(answered?: (siteId: string, ms: number) => void): LinkProbe {
    const { clock, open } = this;
    return new LinkProbe({
      clock,
      open,
      logger: silentLogger,
      preciseNow: () => clock.now(),
      ...(answered && { answered }),
    });
  }

  forge(from: string, to: string, bytes: Buffer): void {
    this.#heard.get(linkAddress(to))?.(bytes, from);
  }
}

async function seconds(wire: Wire, probes: readonly (readonly [LinkProbe, string, string])[], count: number) {
  for (let i = 0; i < count; i++) {
    for (const [probe, own, peer] of probes) await probe.tick(own, [peer], 1380);
    await wire.clock.advance(1_000);
  }
}

describe("the probe of a link", () => {
  const pair = (wire: Wire) => {
    const told: number[] = [];
    const one = wire.probe((_, ms) => told.push(ms));
    const other = wire.probe();
    return {
      one,
      told,
      run: (count: number) =>
        seconds(
          wire,
          [
            [one, "a", "b"],
            [other, "b", "a"],
          ],
          count,
        ),
    };
  };

  it("tells how long it takes, that nothing is lost, and how large a packet may be", async () => {
    const wire = new Wire();
    const { one, told, run } = pair(wire);
    await run(12);
    assert.deepEqual(one.seen("b"), { latencyMs: 20, lossPercent: 0, mtu: 1380 });
    assert.ok(told.length >= 2 && told.every((ms) => ms === 20));
  });

  it("tells what is lost, once it is, and forgets it in time", async () => {
    const wire = new Wire();
    const { one, run } = pair(wire);
    await run(50);
    wire.cut = true;
    await run(12);
    const { lossPercent = 0 } = one.seen("b");
    assert.ok(lossPercent > 20 && lossPercent < 60, String(lossPercent));
    wire.cut = false;
    await run(110);
    assert.equal(one.seen("b").lossPercent, 0);
  });

  it("finds how large packets may be where the largest get lost", async () => {
    const wire = new Wire();
    wire.largest = 1333;
    const { one, run } = pair(wire);
    await run(90);
    const { mtu = 0 } = one.seen("b");
    assert.ok(mtu <= 1333 && mtu > 1333 - 16, String(mtu));
  });

  it("says nothing of a peer that never answered, and nothing of size where not even small packets pass", async () => {
    const wire = new Wire();
    const one = wire.probe();
    await seconds(wire, [[one, "a", "b"]], 20);
    assert.deepEqual(one.seen("b"), {});
    wire.largest = 1_000;
    const { one: another, run } = pair(wire);
    await run(60);
    assert.deepEqual(another.seen("b"), { latencyMs: 20, lossPercent: 0 });
  });

  it("believes only the peer, and only answers to what it asked", async () => {
    const wire = new Wire();
    wire.cut = true;
    const { one, run } = pair(wire);
    await run(1);
    const answer = Buffer.from([0x66, 0x6a, 2, 0, 0, 0, 0, 1]);
    wire.forge("fd66:6a70::1", "a", answer);
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(9_000), Buffer.from([0x66, 0x6a, 9, 0, 0, 0, 0, 1])])
      wire.forge(linkAddress("b"), "a", bytes);
    wire.forge(linkAddress("b"), "a", Buffer.from([0x66, 0x6a, 2, 0, 0, 0, 9, 9]));
    assert.deepEqual(one.seen("b"), {});
    wire.forge(linkAddress("b"), "a", answer);
    assert.notEqual(one.seen("b").latencyMs, undefined);
  });

  it("tries again where the node has no such address yet", async () => {
    const wire = new Wire();
    let attempts = 0;
    const open: OpenProbeSocket = (...args) =>
      ++attempts < 3 ? Promise.reject(new Error("EADDRNOTAVAIL")) : wire.open(...args);
    const probe = new LinkProbe({ clock: wire.clock, open, logger: silentLogger, preciseNow: () => wire.clock.now() });
    await seconds(
      wire,
      [
        [probe, "a", "b"],
        [wire.probe(), "b", "a"],
      ],
      60,
    );
    assert.equal(attempts, 3);
    assert.equal(probe.seen("b").latencyMs, 20);
  });
});
