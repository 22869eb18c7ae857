import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { linkAddress } from "../link-address.ts";
import { LinkLife } from "./link-life.ts";
import { LinkProbe, type OpenProbeSocket } from "./link-probe.ts";

/** Two gateways with a wire between, which may lose packets and takes its time. */
class Wire {
  readonly clock = new ManualClock(0);
  largest = 9_000;
  cut: boolean | string = false;
  delayMs = 10;
  sent = 0;
  /** From 0 to 1. */
  random: (() => number) | undefined;
  #heard = new Map<string, (bytes: Buffer, from: string) => void>();

  readonly open: OpenProbeSocket = async (address, heard) => {
    this.#heard.set(address, heard);
    return {
      send: (bytes, to) => {
        this.sent++;
        // All of it, or what is sent to one of them.
        if (this.cut === true || this.cut === to || bytes.length + 48 > this.largest) return;
        this.clock.after(this.delayMs, () => this.#heard.get(to)?.(bytes, address));
      },
      close: () => this.#heard.delete(address),
    };
  };

  probe(answered?: (siteId: string, ms: number) => void): LinkProbe {
    const { clock, open, random } = this;
    return new LinkProbe({
      ...(random && { random }),
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
  it("answers one that asks without end no more than it would any, and the others as ever", async () => {
    const wire = new Wire();
    const probe = wire.probe();
    await probe.tick("a", ["evil", "honest"], 1380);
    await wire.clock.advance(10_000);
    const ask = Buffer.from([0x66, 0x6a, 1, 0, 0, 0, 0, 7, 0, 0]);
    const asked = (who: string, times: number) => {
      const before = wire.sent;
      for (let i = 0; i < times; i++) wire.forge(linkAddress(who), "a", ask);
      return wire.sent - before;
    };
    assert.deepEqual([asked("evil", 5_000), asked("evil", 5_000), asked("honest", 20)], [200, 0, 20]);
    await wire.clock.advance(1_000);
    assert.equal(asked("evil", 5), 5);
    probe.close();
  });

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

  /** Both look at each other five times a second, as loops do while an answer is late. */
  const lives = (wire: Wire, often = true) => {
    const sites = [["a", "b"] as const, ["b", "a"] as const].map(([own, peer]) => ({
      own,
      peer,
      probe: wire.probe(),
      life: new LinkLife(),
      silentAt: undefined as number | undefined,
    }));
    const run = async (ms: number) => {
      for (let at = 0; at < ms; at += 200) {
        for (const site of sites) {
          await site.probe.tick(site.own, [site.peer], 1380, new Set(often ? [site.peer] : []));
          const signs = site.probe.signs(site.peer);
          const isSilent = signs && site.life.isSilent({ ...signs, now: wire.clock.now(), receivedBytes: 0 });
          if (isSilent) site.silentAt ??= wire.clock.now();
          else site.silentAt = undefined;
        }
        await wire.clock.advance(200);
      }
    };
    return { sites, run };
  };

  it("finds out within two and a half seconds, at both ends, that nothing passes, whenever that begins", async () => {
    for (const cut of [true, linkAddress("a")]) {
      for (let phase = 0; phase < 20; phase++) {
        const wire = new Wire();
        wire.random = seededRandom(phase);
        const { sites, run } = lives(wire);
        await run(10_000 + phase * 200);
        wire.cut = cut;
        const cutAt = wire.clock.now();
        await run(4_000);
        for (const { silentAt = Number.POSITIVE_INFINITY } of sites) {
          const took = silentAt - cutAt;
          assert.ok(took >= 1_000 && took <= 2_500, `${took} ms, phase ${phase}`);
        }
      }
    }
  });

  it("takes neither losses nor a break of a second for the end", async () => {
    const wire = new Wire();
    wire.random = seededRandom(7);
    const { sites, run } = lives(wire);
    await run(5_000);
    const chance = seededRandom(8);
    for (let i = 0; i < 1_500; i++) {
      wire.cut = chance() < 0.2;
      await run(200);
      assert.deepEqual(
        sites.map(({ silentAt }) => silentAt),
        [undefined, undefined],
        `after ${i} steps`,
      );
    }
    for (let i = 0; i < 10; i++) {
      wire.cut = true;
      await run(1_000);
      wire.cut = false;
      await run(2_000);
      assert.deepEqual(
        sites.map(({ silentAt }) => silentAt),
        [undefined, undefined],
      );
    }
  });

  it("asks once a second for both ends together, and every five where nobody would notice", async () => {
    for (const [often, most] of [
      [true, 2.6],
      [false, 0.9],
    ] as const) {
      const wire = new Wire();
      wire.random = seededRandom(3);
      const { run, sites } = lives(wire, often);
      await run(20_000);
      wire.sent = 0;
      await run(100_000);
      assert.ok(wire.sent / 100 <= most, `${wire.sent} packets in 100 s`);
      for (const { probe, peer } of sites) assert.equal(probe.seen(peer).lossPercent, 0);
    }
  });

  it("knows of one that only asks that both hear each other, and asks an older one itself", async () => {
    const wire = new Wire();
    const { sites, run } = lives(wire);
    await run(5_000);
    const [{ probe } = { probe: wire.probe() }] = sites;
    const told = Buffer.alloc(16);
    told.writeUInt16BE(0x666a, 0);
    told.writeUInt8(1, 2);
    const before = probe.signs("b")?.heardAt ?? 0;
    wire.cut = true;
    await run(1_000);
    wire.forge(linkAddress("b"), "a", told);
    assert.equal(probe.signs("b")?.heardAt, before, "an older one says nothing of what it hears");
    assert.equal(probe.signs("b")?.questionedAt, wire.clock.now());
    told.writeUInt8(2, 3);
    told.writeUInt16BE(300, 8);
    wire.forge(linkAddress("b"), "a", told);
    assert.equal(probe.signs("b")?.heardAt, Math.max(before, wire.clock.now() - 300));
  });
});
