import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HomeWords } from "../network-state.ts";
import { homeChains } from "./home-words.ts";

const chainsOf = (homes: HomeWords[], ranges: string[] = []) =>
  Object.fromEntries(homeChains({ own: ["10.42.0.0/16", "fd42::/64"], ranges, homes }));
const home = (called: string, range = "10.42.0.0/16", addresses = ["10.42.0.7", "10.42.0.8"]): HomeWords => ({
  addresses,
  names: [{ range, called }],
});

describe("the words of guests' homes", () => {
  it("need nothing where there are none", () => {
    assert.deepEqual(chainsOf([]), {});
    assert.deepEqual(
      chainsOf([
        { addresses: ["10.42.0.7"], names: [] },
        { ...home("240.1.0.0/16"), addresses: [] },
      ]),
      {},
    );
  });

  it("lead each guest by those of its own home, behind what leads to Services", () => {
    const chains = chainsOf([
      home("240.1.0.0/16", "10.42.0.0/16", ["10.42.0.7"]),
      home("240.1.0.0/16", "240.5.0.0/16", ["10.42.0.8"]),
    ]);
    assert.deepEqual(chains.home, [
      "type nat hook prerouting priority -99; policy accept;",
      "ip saddr vmap { 10.42.0.7 : jump home4-1, 10.42.0.8 : jump home4-2 }",
    ]);
    assert.deepEqual(chains["home4-1"], ["ip daddr 240.1.0.0/16 dnat ip prefix to 10.42.0.0/16"]);
    assert.deepEqual(chains["home4-2"], ["ip daddr 240.1.0.0/16 dnat ip prefix to 240.5.0.0/16"]);
  });

  it("give a guest that asks itself the node's address", () => {
    assert.deepEqual(chainsOf([home("240.1.0.0/16")]).self?.slice(1), [
      "ct status dnat ip saddr . ip daddr { 10.42.0.7 . 10.42.0.7, 10.42.0.8 . 10.42.0.8 } masquerade",
    ]);
  });

  it("are of both families", () => {
    const chains = chainsOf([home("fd66:6a6f:1::/64", "fd42::/64", ["fd42::7"])]);
    assert.deepEqual(chains["home6-1"], ["ip6 daddr fd66:6a6f:1::/64 dnat ip6 prefix to fd42::/64"]);
    assert.deepEqual(chains.home?.slice(1), ["ip6 saddr vmap { fd42::7 : jump home6-1 }"]);
  });

  it("lead what runs on the node's network only by words that can mean nothing else", () => {
    assert.deepEqual(chainsOf([home("240.1.0.0/16")]).host?.slice(1), [
      "ip daddr 240.1.0.0/16 dnat ip prefix to 10.42.0.0/16",
    ]);
    assert.equal(chainsOf([home("192.168.0.0/16")]).host, undefined, "a machine may have it");
    assert.equal(chainsOf([home("240.1.0.0/16")], ["240.0.0.0/12"]).host, undefined, "a peer is called so");
    assert.equal(chainsOf([home("240.1.0.0/16", "240.5.0.0/16")]).host, undefined, "it is elsewhere");
    assert.equal(chainsOf([home("240.1.0.0/16"), home("240.1.0.0/16", "10.42.0.0/17")]).host?.length, 2);
  });

  it("have no address twice, and nothing that is no address or does not fit", () => {
    const chains = chainsOf([home("240.1.0.0/16"), home("240.2.0.0/16", "10.42.0.0/16", ["10.42.0.7", "x; drop"])]);
    assert.deepEqual(chains.home?.slice(1), ["ip saddr vmap { 10.42.0.7 : jump home4-1, 10.42.0.8 : jump home4-1 }"]);
    assert.deepEqual(chainsOf([home("240.1.0.0/17")]), {});
    assert.deepEqual(chainsOf([home("240.1.0.0/16; accept")]), {});
  });
});
