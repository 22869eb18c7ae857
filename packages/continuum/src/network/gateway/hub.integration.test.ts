import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Clock, systemClock } from "@fjord/base";
import { EchoPod } from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import { relayAddress } from "../link-address.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import type { Gateway } from "./gateway.ts";
import { namings, stateOf } from "./test-gateways.ts";
import { eventually, TestSites } from "./test-sites.ts";
import { WireguardSocket } from "./wireguard-socket.ts";

const skip = networkSkip();
type Name = "a" | "b" | "h";
type Names = readonly [string, string];
/** What each calls the pods of each other one, of both families. */
const NAMES: Readonly<Record<Name, Partial<Record<Name, Names>>>> = {
  a: { b: ["240.0.0.0/16", "fd66:6a6f::/64"], h: ["240.1.0.0/16", "fd66:6a6f:0:1::/64"] },
  b: { a: ["240.5.0.0/16", "fd66:6a6f:0:5::/64"], h: ["240.6.0.0/16", "fd66:6a6f:0:6::/64"] },
  h: { a: ["240.7.0.0/16", "fd66:6a6f:0:7::/64"], b: ["240.8.0.0/16", "fd66:6a6f:0:8::/64"] },
};

/** a and b reach h and not each other; all have the same addresses. */
describe("A link between two sites that cannot meet, through a third", { skip }, () => {
  const sites = new TestSites("h", { a: 2, b: 1, h: 1 });
  const { namespaces, keys, pods } = sites;
  const nodes: Record<string, EchoPod> = {};
  const gateways = {} as Record<Name, Gateway>;
  /** By how much the gateways' clock is ahead. */
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
  const prefixOf = (site: Name) => sites.prefixOf(site);

  before(async () => {
    await sites.make();
    for (const spoke of ["a", "b"])
      await namespaces.ip("wan", "link", "set", "dev", spoke, "type", "bridge_slave", "isolated", "on");
    for (const site of sites.names) gateways[site] = sites.gateway(site, { clock });
    await sites.startPods();
    await apply("a");
    await apply("b");
  });
  after(() => sites[Symbol.asyncDispose]());

  const addressOf = (pod: string) => sites.pod(pod).ipv4;
  const addressesOf = (pod: string) => [sites.pod(pod).ipv4, sites.pod(pod).ipv6];
  const called = (by: Name, pod: string, family: 4 | 6 = 4): string => {
    const [four = "", six = ""] = NAMES[by][pod.slice(0, 1) as Name] ?? [];
    const [ipv4 = "", ipv6 = ""] = addressesOf(pod);
    return family === 4
      ? ipv4.replace("10.42.", `${four.split(".").slice(0, 2).join(".")}.`)
      : ipv6.replace("fd42::", six.replace("/64", ""));
  };
  const peerOf = (site: Name, other: Name, more: Partial<PeerNetwork> = {}): PeerNetwork => ({
    siteId: other,
    own: namings(NAMES[other][site]),
    peer: namings(NAMES[site][other]),
    link: { publicKey: keys[other].public, endpoints: [`${sites.site(other).address}:51820`] },
    groups: [],
    ...more,
  });
  const spoke = (site: "a" | "b", via = "h"): NetworkState => {
    const other = site === "a" ? "b" : "a";
    const link = { publicKey: keys[other].public, endpoints: [`${relayAddress(other)}:51820`], via };
    const remote = ([4, 6] as const).map((family) => called(site, `${other}1`, family));
    const groups = [{ name: "shop", local: addressesOf(`${site}1`), remote }];
    return stateOf(site, [peerOf(site, "h"), peerOf(site, other, { link, groups })]);
  };
  /** Where a and b may reach each other, or others. */
  const hub = (others: string[] | "each other") =>
    stateOf("h", [
      peerOf("h", "a", { relayTo: others === "each other" ? ["b"] : others }),
      peerOf("h", "b", { relayTo: others === "each other" ? ["a"] : others }),
    ]);
  const apply = async (site: Name, state: NetworkState = spoke(site as "a" | "b")) => {
    await gateways[site].apply(state, keys[site].private);
  };
  const denied = (site: Name, counter?: "denied-in" | "denied-out") => sites.denied(site, counter);
  const faultOf = async (site: Name, peer: Name) =>
    (await gateways[site].tend()).find(({ siteId }) => siteId === peer)?.fault;

  it("has no other way", async () => {
    for (const site of ["a", "b", "h"]) nodes[site] = await EchoPod.start(namespaces, `${site}-gw`);
    for (const [from, to] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      const ask = (site: Name, patienceMs = 0) =>
        nodes[from]?.ask(sites.site(site).address, { proto: "udp", patienceMs });
      assert.equal(await ask("h"), sites.site(from).address);
      assert.equal(await ask(to, 1_000), "nothing");
    }
  });

  it("is not there as long as the owner of the third does not let the two", async () => {
    const ask = (patienceMs: number) => pods.a1?.ask(called("a", "b1"), { proto: "udp", message: "early", patienceMs });
    // WireGuard of a hub that lets nobody takes such sources from nobody.
    await apply("h", hub([]));
    assert.equal(await ask(500), "nothing");
    // One that lets others hears both, and drops what they want to say to each other.
    await apply("h", hub(["other"]));
    const before = await denied("h");
    await eventually("the hub drops it", async () => {
      assert.equal(await ask(300), "nothing");
      return (await denied("h")) > before;
    });
    assert.equal(await faultOf("a", "b"), undefined);
    assert.deepEqual(pods.b1?.heard, []);
  });

  it("carries TCP and UDP of both families both ways once it does, and each sees the other by its own name for it", async () => {
    await apply("h", hub("each other"));
    for (const family of [4, 6] as const) {
      const [a1, b1] = [called("b", "a1", family), called("a", "b1", family)];
      assert.equal(await pods.a1?.ask(b1, { proto: "udp" }), a1);
      assert.equal(await pods.b1?.ask(a1, { proto: "udp" }), b1);
      assert.equal(await pods.a1?.ask(b1, { message: "x*1000000" }), a1);
      assert.equal(await pods.b1?.ask(a1, { message: "x*1000000" }), b1);
    }
  });

  it("is reported with the packets that the node's routes let there", async () => {
    const report = (await gateways.a.tend()).find(({ siteId }) => siteId === "b");
    assert.equal(report?.routeMtu, 1312);
    assert.match(await namespaces.ip("a-gw", "route", "show", "table", "7443"), /mtu lock 1312/);
  });

  it("shows the third nothing but WireGuard's packets", async () => {
    const nft = (text: string) => namespaces.run("h-gw", "nft", text);
    await nft("add table inet witness");
    await nft("add chain inet witness pass { type filter hook forward priority 0; }");
    await nft(
      `add rule inet witness pass ip saddr ${relayAddress("a")} ip daddr ${relayAddress("b")} udp dport 51820 counter`,
    );
    await nft("add rule inet witness pass udp dport != 51820 counter");
    await nft("add rule inet witness pass meta l4proto != udp counter");
    assert.equal(await pods.a1?.ask(called("a", "b1")), called("b", "a1"));
    assert.equal(await pods.a1?.ask(called("a", "b1"), { proto: "udp" }), called("b", "a1"));
    const counts = [...(await nft("list table inet witness")).matchAll(/packets (\d+)/g)].map(([, n]) => Number(n));
    await nft("delete table inet witness");
    assert.ok((counts[0] ?? 0) > 0);
    assert.deepEqual(counts.slice(1), [0, 0]);
  });

  it("lets nothing through that no group names, at either end", async () => {
    const before = await denied("a", "denied-out");
    assert.equal(
      await pods.a2?.ask(called("a", "b1"), { proto: "udp", message: "forbidden", patienceMs: 300 }),
      "nothing",
    );
    await eventually("it is dropped", async () => (await denied("a", "denied-out")) > before);
    assert.deepEqual(
      pods.b1?.heard.filter(({ message }) => message === "forbidden"),
      [],
    );
  });

  it("gives a hostile end nothing at the third but the one peer that it may reach", async () => {
    // From now on a sends whatever it likes.
    await namespaces.run("a-gw", "nft", "delete", "table", "inet", "fjord");
    const hostile = nodes.a as EchoPod;
    const from = relayAddress("a");
    const link = [`public_key=${hex(keys.h.public)}`, "allowed_ip=248.0.0.0/6", "allowed_ip=10.42.0.0/16"];
    await new WireguardSocket(`${prefixOf("a")}0`).set(link);
    await namespaces.ip("a-gw", "route", "add", `${addressOf("h1")}/32`, "dev", `${prefixOf("a")}0`);
    const before = await denied("h");
    const others = [relayAddress("h"), relayAddress("stranger"), addressOf("h1")];
    for (const to of others)
      assert.equal(await hostile.ask(to, { proto: "udp", from, message: "hostile", patienceMs: 300 }), "nothing");
    await eventually("the hub drops all", async () => (await denied("h")) >= before + others.length);
    // b itself it reaches, and there WireGuard alone.
    const atEnd = await denied("b");
    assert.equal(
      await hostile.ask(relayAddress("b"), { proto: "udp", from, message: "hostile", patienceMs: 300 }),
      "nothing",
    );
    await eventually("the end drops it", async () => (await denied("b")) > atEnd);
    for (const pod of Object.values(pods))
      assert.deepEqual(
        pod.heard.filter(({ message }) => message === "hostile"),
        [],
      );
    await gateways.a.remove();
    await apply("a");
    assert.equal(await pods.a1?.ask(called("a", "b1"), { proto: "udp" }), called("b", "a1"));
  });

  it("gives a hostile third nothing at the ends", async () => {
    await namespaces.run("h-gw", "nft", "delete", "table", "inet", "fjord");
    const link = [`public_key=${hex(keys.a.public)}`, "allowed_ip=240.0.0.0/4"];
    await new WireguardSocket(`${prefixOf("h")}0`).set(link);
    const name = `${prefixOf("h")}0`;
    // What b is called at a, and b's address behind hubs, which the hub may speak for: but only to WireGuard.
    const sources = [called("a", "b1"), relayAddress("b")];
    for (const source of sources) await namespaces.ip("h-gw", "address", "add", `${source}/32`, "dev", "lo");
    await namespaces.ip("h-gw", "route", "replace", "240.7.0.0/16", "dev", name);
    const hostile = nodes.h as EchoPod;
    const toA1 = addressOf("a1").replace("10.42.", "240.7.");
    const before = await denied("a");
    for (const from of sources)
      for (const to of [toA1, relayAddress("a")])
        assert.equal(await hostile.ask(to, { proto: "udp", from, message: "hub", patienceMs: 300 }), "nothing");
    // Of the four, two have a source that WireGuard does not take from it.
    await eventually("the end drops both", async () => (await denied("a")) >= before + 2);
    for (const pod of Object.values(pods))
      assert.deepEqual(
        pod.heard.filter(({ message }) => message === "hub"),
        [],
      );
    await gateways.h.remove();
    for (const source of sources) await namespaces.ip("h-gw", "address", "delete", `${source}/32`, "dev", "lo");
    await apply("h", hub("each other"));
    assert.equal(await pods.a1?.ask(called("a", "b1"), { proto: "udp" }), called("b", "a1"));
  });

  it("is taken by itself where the two cannot meet, left where they can, and taken again", async () => {
    const isolated = async (isOn: boolean) => {
      for (const each of ["a", "b"])
        await namespaces.ip("wan", "link", "set", "dev", each, "type", "bridge_slave", "isolated", isOn ? "on" : "off");
    };
    for (const site of ["a", "b"] as const) {
      const [toHub, toOther] = spoke(site).peers as [PeerNetwork, PeerNetwork];
      const other = site === "a" ? "b" : "a";
      const link = {
        ...peerOf(site, other).link,
        fallback: { via: "h", endpoint: `${relayAddress(other)}:51820` },
      };
      // Anew, so that nothing is known of the way before.
      await gateways[site].remove();
      await apply(site, stateOf(site, [toHub, { ...toOther, link }]));
    }
    const way = async (site: "a" | "b") => {
      const report = (await gateways[site].tend()).find(({ siteId }) => siteId === (site === "a" ? "b" : "a"));
      return report?.via ?? report?.endpoint;
    };
    /** Both look after their links all the time, as gateways do, until both say so. */
    const both = (a: string, b: string) =>
      eventually(`they meet by ${a} and ${b}`, async () => (await way("a")) === a && (await way("b")) === b);
    // Gateways ask each other every second; here their pods do.
    const stream = await pods.a1?.stream(called("a", "b1"), 100);
    const hear = async (message: string) => {
      const count = pods.b1?.heard.length ?? 0;
      await eventually(message, async () => {
        await Promise.all([way("a"), way("b")]);
        return (pods.b1?.heard.length ?? 0) > count + 3;
      });
    };
    await hear("through the hub, as they never met");
    await both("h", "h");
    assert.equal(await pods.b1?.ask(called("b", "a1"), { message: "x*1000000" }), called("a", "b1"));
    await isolated(false);
    await hear("still through the hub");
    assert.equal(await way("a"), "h");
    // Half a minute later, and when that was in vain a minute after, they try the direct way.
    aheadMs += 61_000;
    await both(`${sites.site("b").address}:51820`, `${sites.site("a").address}:51820`);
    await hear("directly");
    await isolated(true);
    await hear("through the hub again");
    await both("h", "h");
    await stream?.end();
    await isolated(true);
    for (const site of ["a", "b"] as const) assert.deepEqual(await gateways[site].check(), []);
  });

  it("has its address put back where others take it away", async () => {
    await namespaces.ip("h-gw", "-4", "address", "flush", "dev", `${prefixOf("h")}0`);
    const drift = await gateways.h.check();
    assert.ok(drift.includes(`interface ${prefixOf("h")}0 has no address ${relayAddress("h")}`), String(drift));
    assert.deepEqual(await gateways.h.check(), []);
  });

  it("says where the third is none, and is taken away again", async () => {
    await apply("a", spoke("a", "nobody"));
    assert.match((await faultOf("a", "b")) ?? "", /there is no link with site nobody/);
    assert.match(await namespaces.ip("a-gw", "address"), new RegExp(prefixOf("a")));
    assert.doesNotMatch(await namespaces.ip("a-gw", "address"), new RegExp(relayAddress("a")));
    await apply("h", hub([]));
    assert.doesNotMatch(await namespaces.ip("h-gw", "address"), new RegExp(relayAddress("h")));
    assert.deepEqual(await gateways.h.check(), []);
  });
});

function hex(base64: string): string {
  return Buffer.from(base64, "base64").toString("hex");
}
