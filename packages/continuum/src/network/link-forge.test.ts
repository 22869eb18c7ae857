import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { relayAddress } from "./link-address.ts";
import { forgeLink, linkPath } from "./link-forge.ts";

const [site, hub, other] = ["a".repeat(26), "b".repeat(26), "c".repeat(26)];
const facts = { publicKey: "k", endpoints: ["wave.example:1"] };
const met = { ...facts };
const place = { hub, port: 7 };
const endpoint = `${relayAddress(site)}:7`;

describe("the lanes to a peer", () => {
  const lanes = (theirs: string[][] | undefined, ours: string[][]) =>
    forgeLink(site, linkPath(site, { ...facts, ...(theirs && { lanes: theirs }) }, undefined), { lanes: ours }, [])
      .lanes;

  it("are as many as both have", () => {
    assert.equal(lanes(undefined, [[]]), undefined);
    assert.equal(lanes([["a:2"]], []), undefined);
    assert.deepEqual(lanes([["a:2"], ["a:3"]], [[]]), [{ endpoints: ["a:2"] }]);
    assert.deepEqual(lanes([["a:2"]], [[], []]), [{ endpoints: ["a:2"] }]);
  });

  it("are none beside the first where a hub leads there", () => {
    const path = linkPath(site, { ...facts, lanes: [["a:2"]], relay: place }, hub);
    assert.equal(forgeLink(site, path, { lanes: [[]] }, []).lanes, undefined);
  });
});

describe("the way to a peer", () => {
  it("is where it says", () => {
    assert.deepEqual(linkPath(site, facts, undefined), met);
  });

  it("is through the hub that both know of", () => {
    const through = { publicKey: "k", endpoints: [endpoint], via: hub };
    assert.deepEqual(linkPath(site, { ...facts, relay: place }, hub), through);
    assert.deepEqual(linkPath(site, { ...facts, relay: place }, undefined), through);
    assert.deepEqual(linkPath(site, { ...facts, relay: place }, other), met);
    assert.deepEqual(linkPath(site, facts, hub, [hub]), met, "until the peer says the same");
  });

  it("has another one where a hub says that it leads there, and the peer knows of it", () => {
    const both = { ...met, fallback: { site: hub, endpoint } };
    assert.deepEqual(linkPath(site, { ...facts, fallback: place }, undefined, [hub, other]), both);
    const seenAt = (by: string) => (by === hub ? "192.0.2.7:40000" : undefined);
    const sight = { ...met, fallback: { site: hub, endpoint, seenAt: "192.0.2.7:40000" } };
    assert.deepEqual(linkPath(site, { ...facts, fallback: place }, undefined, [hub, other], seenAt), sight);
    assert.deepEqual(linkPath(site, { ...facts, fallback: place }, undefined, [other]), met);
    assert.deepEqual(linkPath(site, facts, undefined, [hub]), met);
    assert.deepEqual(linkPath(site, { ...facts, fallback: place }, other, [hub]), met, "the owner has named another");
  });
});
