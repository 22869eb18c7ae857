import assert from "node:assert/strict";
import { test } from "node:test";
import { topologies } from "./matrix-cell.ts";
import { metBy, type SeenLink, wantedWays } from "./way.ts";

const direct = (endpoint: string): SeenLink => ({ way: "Direct", endpoint });

test("both ends have to say how they met, and a NAT is seen by the address that the peer has", () => {
  assert.equal(metBy(direct("172.31.2.2:51820"), direct("172.31.1.2:51820")), wantedWays.direct);
  assert.equal(metBy(direct("172.31.2.2:51820"), direct("203.0.113.1:51820")), wantedWays["NAT one side"]);
  assert.equal(metBy(direct("[2001:db8:ff::2]:51820"), direct("[2001:db8:ff::1]:51820")), wantedWays["NAT both"]);
  assert.equal(metBy({ way: "Hub" }, { way: "Hub" }), wantedWays.hub);
  assert.equal(metBy({ way: "TCP" }, { way: "TCP" }), wantedWays["TCP only"]);
});

test("ends that do not agree, or say nothing, have met in no way that is wanted", () => {
  for (const [home, away] of [
    [undefined, undefined],
    [{ way: "TCP" }, { way: "Hub" }],
    [direct("172.31.2.2:51820"), undefined],
  ] as const)
    for (const topology of topologies) assert.notEqual(metBy(home, away), wantedWays[topology]);
});
