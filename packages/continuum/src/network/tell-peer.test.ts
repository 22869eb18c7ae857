import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { NetworkFacts } from "../protocol.ts";
import { digestOf } from "./heard-networks.ts";
import { isHeard } from "./tell-peer.ts";

const bare: NetworkFacts = {
  publicKey: Buffer.alloc(32, 1).toString("base64"),
  endpoints: ["192.0.2.1:51820"],
  ranges: ["10.42.0.0/16"],
  names: [],
} as unknown as NetworkFacts;
const proven = { ...bare, keyProof: Buffer.alloc(32, 2).toString("base64url") };

describe("whether a provider has heard of the own network", () => {
  it("is so when it says so, and nothing is to be said where there is nothing", () => {
    assert.ok(isHeard(digestOf(proven), proven, false));
    assert.ok(isHeard(undefined, undefined, false));
    assert.ok(!isHeard(undefined, bare, true));
    assert.ok(!isHeard(digestOf(bare), undefined, true));
  });

  it("is not so before it was told of a proof, and is once it was: an older one cannot say more", () => {
    assert.notEqual(digestOf(bare), digestOf(proven));
    assert.ok(!isHeard(digestOf(bare), proven, false));
    assert.ok(isHeard(digestOf(bare), proven, true));
  });

  it("is not so where it has heard another proof, or something else", () => {
    const other = { ...bare, keyProof: Buffer.alloc(32, 3).toString("base64url") };
    assert.ok(!isHeard(digestOf(other), proven, true));
    assert.ok(!isHeard(digestOf({ ...bare, endpoints: [] }), proven, true));
  });
});
