import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { networkSkip } from "@fjord/testbed/testing";
import { GatewayLoop } from "./gateway-loop.ts";
import { LinkLife } from "./link-life.ts";
import { LinkProbe } from "./link-probe.ts";
import { called, openProbeAt, PORT, pairState } from "./test-gateways.ts";
import { eventually, TestSites } from "./test-sites.ts";

const PAIR = ["a", "b"] as const;
/** How long a link is cut that connections survive. */
const cutMs = 1_000 * Number(process.env.FJORD_TEST_CUT_SECONDS ?? 5);

describe("A link that falls silent", { skip: networkSkip() }, () => {
  const sites = new TestSites("s", { a: 1, b: 1 });
  const { namespaces, keys, pods } = sites;
  const programs: Partial<Record<"a" | "b", { stop: AbortController; ended: Promise<void> }>> = {};
  /** Whether each has found the other silent, and since when. */
  const seen: Partial<Record<"a" | "b", { isSilent: boolean | undefined; since: number }>> = {};

  const start = (own: "a" | "b") => {
    const peer = own === "a" ? "b" : "a";
    const { address } = sites.site(peer);
    const state = pairState(own, { siteId: peer, publicKey: keys[peer].public, address });
    const means = { clock: systemClock, logger: silentLogger };
    const life = new LinkLife();
    const loop = new GatewayLoop({
      ...means,
      gateway: sites.gateway(own),
      source: { read: async () => ({ carries: { state, privateKey: keys[own].private } }) },
      probe: (lane) => new LinkProbe({ ...means, lane, open: openProbeAt(namespaces, own) }),
      told: async ([report]) => {
        if (report?.signs === undefined) return;
        const { signs, receivedBytes } = report;
        const isSilent = life.isSilent({ ...signs, receivedBytes, now: systemClock.now() });
        if (seen[own]?.isSilent !== isSilent) seen[own] = { isSilent, since: systemClock.now() };
      },
    });
    const stop = new AbortController();
    programs[own] = { stop, ended: loop.run(stop.signal) };
  };
  const end = async (own: "a" | "b") => {
    programs[own]?.stop.abort();
    await programs[own]?.ended;
    delete programs[own];
  };
  const areSilent = (isSilent: boolean) =>
    eventually(
      `both are ${isSilent ? "silent" : "heard"}`,
      () => PAIR.every((own) => seen[own]?.isSilent === isSilent),
      120_000,
    );
  /** What comes for WireGuard is dropped at one end, or at both. */
  const cut = async (...ends: ("a" | "b")[]) => {
    for (const own of PAIR) {
      const drop = `chain arrive {\ntype filter hook prerouting priority -500;\nudp dport ${PORT} drop\n}`;
      const table = ends.includes(own) ? `table inet cut {\n${drop}\n}` : "";
      await namespaces.run(`${own}-gw`, "nft", `table inet cut\ndelete table inet cut\n${table}\n`);
    }
    return systemClock.now();
  };

  before(async () => {
    await sites.make();
    for (const own of PAIR) start(own);
    await sites.startPods();
    await areSilent(false);
  });
  after(async () => {
    for (const own of PAIR) await end(own);
    await sites[Symbol.asyncDispose]();
  });

  for (const [what, ...ends] of [
    ["nothing passes", "a", "b"],
    ["only one direction passes", "b"],
  ] as const)
    it(`is known to be silent within two and a half seconds at both ends where ${what}, and to answer soon after it does`, async (t) => {
      const times: number[] = [];
      // A machine that stands still for seconds is late with everything: then once more.
      do {
        const from = await cut(...ends);
        await areSilent(true);
        times.push(Math.max(...PAIR.map((own) => (seen[own]?.since ?? 0) - from)));
        await cut();
        await areSilent(false);
      } while (Math.min(...times) > 2_500 && times.length < 3);
      t.diagnostic(`${times.join(", ")} ms`);
      assert.ok(Math.min(...times) <= 2_500, `${times.join(", ")} ms`);
    });

  it(`goes on with connections that were open, when it was cut for ${cutMs / 1000} s`, async (t) => {
    const held = await pods.a1?.hold(called(sites.pod("b1").ipv4), 4);
    await cut(...PAIR);
    await new Promise((resolve) => setTimeout(resolve, cutMs));
    await cut();
    await areSilent(false);
    // TCP tries again after at most two minutes.
    await new Promise((resolve) => setTimeout(resolve, Math.min(2 * cutMs, 125_000)));
    const gaps = (await held?.end()) ?? [];
    t.diagnostic(`heard nothing for at most ${gaps} ms`);
    assert.equal(gaps.length, 4);
    for (const gap of gaps) assert.ok(typeof gap === "number" && gap >= cutMs && gap < 3 * cutMs + 5_000, String(gaps));
  });

  it("is not silent where only the other's program has ended, as packets go on: its kernel says that nobody listens", async () => {
    await end("b");
    const denied = await sites.denied("a");
    const since = systemClock.now();
    while (systemClock.now() - since < 6_000) {
      assert.equal(seen.a?.isSilent, false, `after ${systemClock.now() - since} ms`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.notEqual(await pods.a1?.ask(called(sites.pod("b1").ipv4), { proto: "udp" }), "nothing");
    assert.equal(await sites.denied("a"), denied, "and what it says of that is not counted as denied");
    start("b");
    await areSilent(false);
  });
});
