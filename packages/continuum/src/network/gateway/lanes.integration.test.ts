import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { silentLogger, systemClock } from "@fjord/base";
import { networkSkip } from "@fjord/testbed/testing";
import type { Gateway } from "./gateway.ts";
import { GatewayLoop } from "./gateway-loop.ts";
import { LinkProbe } from "./link-probe.ts";
import type { SeenReport } from "./link-report.ts";
import { called, openProbeAt, PORT, pairState } from "./test-gateways.ts";
import { eventually, TestSites } from "./test-sites.ts";

const LANES = [0, 1];

describe("A link of two lanes", { skip: networkSkip() }, () => {
  const sites = new TestSites("l", { a: 1, b: 1 });
  const { namespaces, keys, pods } = sites;
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const reports: Record<string, readonly SeenReport[]> = {};
  const gateways: Record<string, Gateway> = {};
  const addressOf = (pod: string, family: 4 | 6 = 4) => {
    const { ipv4, ipv6 } = sites.pod(pod);
    return called(family === 4 ? ipv4 : ipv6);
  };

  before(async () => {
    await sites.make();
    for (const [own, peer] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      const other = { siteId: peer, publicKey: keys[peer].public, address: sites.site(peer).address };
      const state = { ...pairState(own, other), parallel: LANES.length };
      const means = { clock: systemClock, logger: silentLogger };
      const gateway = sites.gateway(own);
      gateways[own] = gateway;
      const loop = new GatewayLoop({
        ...means,
        gateway,
        source: { read: async () => ({ carries: { state, privateKey: keys[own].private } }) },
        // A test looks by itself whether others have changed something.
        checkMs: 3_600_000,
        probe: (lane) => new LinkProbe({ ...means, lane, open: openProbeAt(namespaces, own) }),
        told: async (seen) => {
          reports[own] = seen;
        },
      });
      running.push(loop.run(stop.signal));
    }
    await sites.startPods();
    await eventually("all lanes are heard of", () => areSilent(false, false));
    // That they are heard of is told before the firewalls of both ends know.
    await eventually("both ends share connections among them", async () =>
      (await lanesOf24(4)).every((lane) => lane.out.length > 0 && isDeepStrictEqual(lane.in, lane.out)),
    );
  });
  after(async () => {
    stop.abort();
    await Promise.all(running);
    await sites[Symbol.asyncDispose]();
  });

  /** As both ends see its lanes. */
  const areSilent = (...wanted: boolean[]) =>
    ["a", "b"].every((site) => {
      const seen = reports[site]?.[0]?.lanes?.map(({ silent }) => silent);
      return JSON.stringify(seen) === JSON.stringify(wanted);
    });

  /** By lane, ports of clients at a that were seen to leave and to get answers there meanwhile. */
  const witness = async (during: () => Promise<unknown>) => {
    const nft = (text: string) => namespaces.run("a-gw", "nft", text);
    await nft("add table inet witness");
    for (const direction of ["out", "in"])
      for (const lane of LANES)
        await nft(`add set inet witness ${direction}${lane} { type inet_service; flags dynamic; }`);
    await nft("add chain inet witness leave { type filter hook postrouting priority 300; }");
    await nft("add chain inet witness arrive { type filter hook prerouting priority -310; }");
    for (const lane of LANES) {
      const name = `"${sites.prefixOf("a")}${lane}"`;
      for (const protocol of ["tcp", "udp"]) {
        await nft(`add rule inet witness leave oifname ${name} ${protocol} dport 7000 add @out${lane} { th sport }`);
        await nft(`add rule inet witness arrive iifname ${name} ${protocol} sport 7000 add @in${lane} { th dport }`);
      }
    }
    try {
      await during();
      const ports = async (set: string) => {
        const text = await nft(`list set inet witness ${set}`);
        return (/elements = \{([^}]*)\}/.exec(text)?.[1]?.match(/\d+/g) ?? []).map(Number).sort((a, b) => a - b);
      };
      return await Promise.all(
        LANES.map(async (lane) => ({ out: await ports(`out${lane}`), in: await ports(`in${lane}`) })),
      );
    } finally {
      await nft("delete table inet witness");
    }
  };

  /** The same of 24 connections. */
  const lanesOf24 = (family: 4 | 6) =>
    witness(async () => {
      const held = await pods.a1?.hold(addressOf("b1", family), 24);
      assert.ok((await held?.end())?.every((each) => typeof each === "number"));
    });

  for (const family of [4, 6] as const)
    it(`shares connections of IPv${family} among them, each of which has one lane in both directions`, async () => {
      const lanes = await lanesOf24(family);
      for (const lane of lanes) {
        assert.ok(lane.out.length > 2, `of 24 connections ${lane.out.length} took one lane`);
        assert.deepEqual(lane.in, lane.out);
      }
      assert.equal(lanes.flatMap(({ out }) => out).length, 24);
    });

  it("gives marks back before anybody else sees them, and has none where nothing is for a peer", async () => {
    const nft = (text: string) => namespaces.run("a-gw", "nft", text);
    await nft("add table inet witness");
    await nft("add chain inet witness forward { type filter hook forward priority 0; }");
    await nft("add rule inet witness forward meta mark != 0 counter");
    const held = await pods.a1?.hold(addressOf("b1"), 12);
    await held?.end();
    assert.match(await nft("list table inet witness"), /counter packets 0 /);
    await nft("delete table inet witness");
  });

  it("has what others take of a lane put back", async () => {
    for (const damage of [
      ["rule", "delete", "preference", "7421"],
      ["route", "delete", "240.0.0.0/16", "table", "7421"],
      ["-6", "address", "flush", "dev", `${sites.prefixOf("a")}1`, "scope", "global"],
    ]) {
      await namespaces.ip("a-gw", ...damage);
      assert.ok(((await gateways.a?.check()) ?? []).length > 0, damage.join(" "));
      assert.deepEqual(await gateways.a?.check(), [], damage.join(" "));
    }
    await namespaces.run("a-gw", "nft", "flush chain inet fjord lane-b");
    assert.ok(((await gateways.a?.check()) ?? []).length > 0);
    assert.match(await namespaces.run("a-gw", "nft", "list chain inet fjord lane-b"), /jhash/);
  });

  it("leads the connections of a lane whose other end is silent to the other one, and back when that is proven", async (t) => {
    const held = await pods.a1?.hold(addressOf("b1"), 12);
    const nft = (text: string) => namespaces.run("b-gw", "nft", text);
    await nft("add table inet cut");
    await nft("add chain inet cut in { type filter hook input priority 0; }");
    await nft(`add rule inet cut in udp dport ${PORT + 1} drop`);
    await eventually("both know", () => areSilent(false, true));
    const lanes = await witness(() => new Promise((resolve) => setTimeout(resolve, 3_000)));
    assert.deepEqual([lanes[0]?.out.length, lanes[1]?.out.length], [12, 0]);
    const gaps = (await held?.end()) ?? [];
    t.diagnostic(`heard nothing for at most ${gaps} ms`);
    assert.ok(
      gaps.every((gap) => typeof gap === "number" && gap < 15_000),
      String(gaps),
    );
    await nft("delete table inet cut");
    await eventually("it is taken again", () => areSilent(false, false));
    const again = await pods.a1?.hold(addressOf("b1"), 12);
    const back = await witness(() => new Promise((resolve) => setTimeout(resolve, 500)));
    assert.ok((back[1]?.out.length ?? 0) > 0);
    await again?.end();
  });

  for (const lane of LANES)
    it(`goes on when WireGuard of lane ${lane} is killed, and has it back`, async (t) => {
      const held = await pods.a1?.hold(addressOf("b1"), 12);
      const name = `${sites.prefixOf("a")}${lane}`;
      const index = await namespaces.ip("a-gw", "-oneline", "link", "show", "dev", name);
      process.kill(await processOf(name), "SIGKILL");
      await eventually("it is there again", async () => {
        const now = await namespaces.ip("a-gw", "-oneline", "link", "show", "dev", name).catch(() => index);
        return now !== index;
      });
      await eventually("and heard of", () => areSilent(false, false));
      const gaps = (await held?.end()) ?? [];
      t.diagnostic(`heard nothing for at most ${gaps} ms`);
      assert.ok(
        gaps.every((gap) => typeof gap === "number" && gap < 15_000),
        String(gaps),
      );
    });
});

/** Of WireGuard for an interface. */
async function processOf(name: string): Promise<number> {
  for (const pid of (await readdir("/proc")).filter((each) => /^\d+$/.test(each))) {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line.includes("wireguard-go") && line.split("\0").includes(name)) return Number(pid);
  }
  throw new Error(`there is no process for ${name}`);
}
