import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type Clock, silentLogger, systemClock } from "@fjord/base";
import {
  EchoPod,
  type NamespaceSite,
  NetworkNamespaces,
  namespaceSites,
  Router,
  wireguardKeys,
} from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import { relayAddress } from "../link-address.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import { GatewayLoop } from "./gateway-loop.ts";
import { LinkProbe } from "./link-probe.ts";
import type { SeenReport } from "./link-report.ts";
import { gatewayOf, namings, openProbeAt, stateOf } from "./test-gateways.ts";

type Name = "a" | "b" | "h";
/** What each calls the pods of each other one, of both families. */
const NAMES: Readonly<Record<Name, Partial<Record<Name, readonly [string, string]>>>> = {
  a: { b: ["240.0.0.0/16", "fd66:6a6f::/64"], h: ["240.1.0.0/16", "fd66:6a6f:0:1::/64"] },
  b: { a: ["240.5.0.0/16", "fd66:6a6f:0:5::/64"], h: ["240.6.0.0/16", "fd66:6a6f:0:6::/64"] },
  h: { a: ["240.7.0.0/16", "fd66:6a6f:0:7::/64"], b: ["240.8.0.0/16", "fd66:6a6f:0:8::/64"] },
};

const CARRIER = fileURLToPath(new URL("../tcp/test-carrier.ts", import.meta.url));

/** a and b are each behind a NAT of its own, h is on the wire and leads them to each other. */
describe("Two sites behind NATs, and a third that both have links with", { skip: networkSkip() }, () => {
  const namespaces = new NetworkNamespaces();
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const keys = { a: wireguardKeys(), b: wireguardKeys(), h: wireguardKeys() };
  const states = {} as Record<Name, NetworkState>;
  const changed: (() => void)[] = [];
  const seen: Partial<Record<Name, readonly SeenReport[]>> = {};
  const routers = {} as Record<"a" | "b", Router>;
  const pods: Record<string, EchoPod> = {};
  /** By what a name of h leads to. */
  let hubAddress = "";
  let sites: Record<string, NamespaceSite> = {};
  /** By how much the gateways' clock is ahead. */
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };

  before(async () => {
    const made = await namespaceSites(namespaces, { a: 1, b: 1, h: 0 });
    sites = Object.fromEntries(made.map((site) => [site.name, site]));
    for (const [at, site] of (["a", "b"] as const).entries()) {
      // Many homes have the same addresses.
      const address = `192.0.2.10${at}`;
      routers[site] = await Router.make(namespaces, {
        name: `${site}-nat`,
        address,
        lan: "172.31.0.1",
        mapping: "stable",
      });
      await routers[site].put(`${site}-gw`, "172.31.0.2");
      pods[site] = await EchoPod.start(namespaces, `${site}1`);
    }
    hubAddress = sites.h?.address ?? "";
    states.h = stateOf("h", [peerOf("h", "a", { relayTo: ["b"] }), peerOf("h", "b", { relayTo: ["a"] })]);
    for (const site of ["a", "b"] as const) states[site] = spoke(site);
    for (const site of ["h", "a", "b"] as const) running.push(run(site));
  });
  after(async () => {
    stop.abort();
    await Promise.all(running);
    await namespaces[Symbol.asyncDispose]();
  });

  const podOf = (site: "a" | "b") => sites[site]?.pods.get(`${site}1`)?.ipv4 ?? "";
  const called = (by: Name, site: "a" | "b") =>
    podOf(site).replace("10.42.", `${NAMES[by][site]?.[0].split(".").slice(0, 2).join(".")}.`);
  const peerOf = (site: Name, other: Name, more: Partial<PeerNetwork> = {}): PeerNetwork => ({
    siteId: other,
    own: namings(NAMES[other][site]),
    peer: namings(NAMES[site][other]),
    link: { publicKey: keys[other].public, endpoints: [] },
    groups: [],
    ...more,
  });
  const spoke = (site: "a" | "b", seenAt?: string): NetworkState => {
    const other = site === "a" ? "b" : "a";
    const fallback = { via: "h", endpoint: `${relayAddress(other)}:51820`, ...(seenAt !== undefined && { seenAt }) };
    const link = { publicKey: keys[other].public, endpoints: [], keepaliveSeconds: 25, fallback };
    const groups = [{ name: "shop", local: [podOf(site)], remote: [called(site, other)] }];
    const toHub = { publicKey: keys.h.public, endpoints: ["hub.example:51820"], keepaliveSeconds: 25 };
    return stateOf(site, [peerOf(site, "h", { link: toHub }), peerOf(site, other, { link, groups })]);
  };
  const run = (site: Name): Promise<void> => {
    const means = { clock, logger: silentLogger };
    const interfacePrefix = `t${process.pid.toString(36)}${site}`;
    return new GatewayLoop({
      ...means,
      gateway: gatewayOf(namespaces, site, { ...means, interfacePrefix, lookup: async () => hubAddress }),
      source: {
        read: async () => ({ carries: { state: states[site], privateKey: keys[site].private } }),
        onChange: (listener) => {
          changed.push(listener);
          return () => {};
        },
      },
      probe: () => new LinkProbe({ ...means, open: openProbeAt(namespaces, site) }),
      told: async (reports) => {
        seen[site] = reports;
      },
      tickMs: 200,
    }).run(stop.signal);
  };
  const reportOf = (site: Name, other: Name) => seen[site]?.find(({ siteId }) => siteId === other);
  const ways = () => [reportOf("a", "b")?.way, reportOf("b", "a")?.way].join();
  /** What agents do: the hub says where it hears of each. */
  const tellSights = () => {
    for (const [site, other] of [
      ["a", "b"],
      ["b", "a"],
    ] as const)
      states[site] = spoke(site, reportOf("h", other)?.endpoint);
    for (const each of changed) each();
  };

  it("reach each other through it at first", async () => {
    assert.equal(await pods.a?.ask(called("a", "b"), { proto: "udp" }), called("b", "a"));
    await eventually("both are met through the hub", () => ways() === "hub,hub");
    for (const site of ["a", "b"] as const)
      await eventually("it sees both", () => reportOf("h", site)?.endpoint === `${routers[site].address}:51820`);
  });

  it("meet once it says where it sees each of them", async () => {
    tellSights();
    await eventually("both are met directly", () => ways() === "direct,direct");
    assert.equal(reportOf("a", "b")?.endpoint, `${routers.b.address}:51820`);
    assert.equal(reportOf("b", "a")?.endpoint, `${routers.a.address}:51820`);
    assert.equal(await pods.b?.ask(called("b", "a"), { message: "x*1000000" }), called("a", "b"));
  });

  it("go on when one of them has another address, through it first and directly again when it sees that", async () => {
    const stream = await pods.a?.stream(called("a", "b"), 50);
    const hear = async (what: string) => {
      const count = pods.b?.heard.length ?? 0;
      await eventually(what, () => (pods.b?.heard.length ?? 0) > count + 10);
    };
    await hear("before");
    await routers.a.move("192.0.2.110");
    await hear("after");
    await eventually("the hub hears of it there", () => reportOf("h", "a")?.endpoint === "192.0.2.110:51820");
    tellSights();
    await eventually("both are met directly", () => ways() === "direct,direct");
    assert.equal(reportOf("b", "a")?.endpoint, "192.0.2.110:51820");
    await hear("directly");
    await stream?.end();
  });

  it("find it again when it has another address itself, by its name", async () => {
    await namespaces.ip("h-gw", "address", "flush", "dev", "eth0");
    await namespaces.ip("h-gw", "address", "add", "192.0.2.77/24", "dev", "eth0");
    hubAddress = "192.0.2.77";
    for (const site of ["a", "b"] as const)
      await eventually(`${site} hears of it`, () => reportOf(site, "h")?.endpoint === "192.0.2.77:51820");
  });

  it("go on through it where UDP does not pass to one of them, as that reaches it over TCP, and by UDP once that passes", async () => {
    /** The agents of a and h, on the same nodes as the gateways; a's can dial. */
    const carrier = async (site: "a" | "h", own: string, what: string) => {
      const child = namespaces.spawn(`${site}-gw`, process.execPath, CARRIER, own, own, what);
      const [port] = await once(child.stdout?.setEncoding("utf8") as NodeJS.ReadableStream, "data");
      const other = site === "a" ? "h" : "a";
      const change = (peer: PeerNetwork): PeerNetwork =>
        peer.siteId === other ? { ...peer, link: { ...peer.link, tcp: `${own}:${String(port).trim()}` } } : peer;
      states[site] = { ...states[site], peers: states[site].peers.map(change) };
    };
    await carrier("h", "192.0.2.77", "listen:7443");
    await carrier("a", "172.31.0.2", "dial:192.0.2.77:7443");
    for (const each of changed) each();
    const stream = await pods.a?.stream(called("a", "b"), 50);
    await routers.a.drop("udp");
    await eventually("a is with the hub over TCP", () => reportOf("a", "h")?.way === "tcp");
    await eventually("and the hub with a", () => reportOf("h", "a")?.way === "tcp");
    assert.equal(reportOf("a", "h")?.tcpSource, "172.31.0.2");
    const count = pods.b?.heard.length ?? 0;
    await eventually("packets go on", () => (pods.b?.heard.length ?? 0) > count + 20);
    assert.equal(ways(), "hub,hub");
    assert.equal(await pods.b?.ask(called("b", "a"), { message: "x*1000000" }), called("a", "b"));
    await routers.a.drop("nothing");
    // Half a minute later, or when that was in vain later still, it tries.
    aheadMs += 31_000;
    await eventually("a is with the hub by UDP", () => reportOf("a", "h")?.way === "direct");
    await eventually("and the hub with a", () => reportOf("h", "a")?.way === "direct");
    await stream?.end();
  });

  it("stay with it where both NATs call them otherwise to each other, and lose no more than a trial", async () => {
    for (const site of ["a", "b"] as const) await routers[site].map("random");
    await eventually("both are met through the hub", () => ways() === "hub,hub");
    const stream = await pods.a?.stream(called("a", "b"), 50);
    await eventually("the hub sees other ports", () => !reportOf("h", "b")?.endpoint?.endsWith(":51820"));
    const count = pods.b?.heard.length ?? 0;
    tellSights();
    await eventually("it is tried", () => reportOf("a", "b")?.isTrying === true);
    await eventually("it is tried in vain", () => reportOf("a", "b")?.isTrying === false);
    await eventually("packets go on", () => (pods.b?.heard.length ?? 0) > count + 60);
    const numbers = pods.b?.heard.slice(count).map(({ message }) => Number(message.slice("packet ".length))) ?? [];
    const gaps = numbers.map((number, at) => number - (numbers[at - 1] ?? number));
    // Twenty a second, and a trial has two.
    assert.ok(Math.max(...gaps) <= 70, `${Math.max(...gaps)} packets were lost in a row`);
    assert.equal(ways(), "hub,hub");
    await stream?.end();
  });
});

async function eventually(what: string, holds: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!holds()) {
    assert.ok(Date.now() < end, `${what}: not within a minute`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
