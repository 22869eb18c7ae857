import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contract } from "@fjord/api";
import { closedBy, closedThere, isClosedStill, standingOf, takesPods } from "./contract-standing.ts";

const contract = (standing: string, peerStanding?: string, phase = "Active") =>
  ({ spec: { standing }, status: { phase, peerStanding } }) as unknown as Contract;
const told = (standing: string, peerStanding?: string, phase?: string) =>
  standingOf(contract(standing, peerStanding, phase), "lively-wave");

test("a contract stands as both of its owners want it to", () => {
  assert.equal(told("Open"), "Open");
  assert.equal(told("Open", "Open"), "Open");
  assert.equal(told("Cordoned", "Open"), "Cordoned");
  assert.equal(told("Open", "Cordoned"), "Cordoned by lively-wave");
  assert.equal(told("Open", "Drained"), "Drained by lively-wave");
  assert.equal(told("Cordoned", "Drained"), "Cordoned, Drained by lively-wave");
  assert.equal(told("Cordoned", "Open", "Ended"), undefined);
});

test("a contract that is over stays closed by this site alone, where that gave it and did not end it", () => {
  const over = (standing: string, reason: string, side = "Provider") =>
    ({
      spec: { standing },
      status: { phase: "Ended", side, conditions: [{ type: "Ended", status: "True", reason }] },
    }) as unknown as Contract;
  for (const reason of ["Cancelled", "Expired"]) {
    assert.ok(isClosedStill(over("Cordoned", reason)));
    assert.equal(standingOf(over("Drained", reason), "harbour"), "Drained");
    assert.ok(!isClosedStill(over("Open", reason)));
    assert.ok(!isClosedStill(over("Cordoned", reason, "Consumer")));
  }
  assert.ok(!isClosedStill(over("Cordoned", "Superseded")));
  assert.ok(!isClosedStill(over("Ended", "Revoked")));
  assert.ok(!isClosedStill(contract("Cordoned", "Open")));
});

test("in a sentence only what is closed is told", () => {
  assert.equal(closedBy(contract("Open", "Open"), "lively-wave"), undefined);
  assert.equal(closedBy(contract("Drained"), "lively-wave"), "drained");
  assert.equal(closedBy(contract("Cordoned", "Drained"), "lively-wave"), "cordoned, drained by lively-wave");
  assert.equal(closedThere(contract("Cordoned", "Open"), "lively-wave"), undefined);
  assert.equal(closedThere(contract("Cordoned", "Drained"), "lively-wave"), "drained by lively-wave");
});

test("a provider takes pods while one of the contracts with it is open to both", () => {
  const agreed = (provider: string, standing: string, more: object = {}) =>
    ({
      spec: { standing, terms: { provider } },
      status: { phase: "Active", side: "Consumer", ...more },
    }) as unknown as Contract;
  const drained = agreed("b", "Drained");
  assert.ok(takesPods([drained, agreed("b", "Open")], "b"));
  const others = [
    agreed("c", "Open"),
    agreed("b", "Open", { phase: "Ended" }),
    agreed("b", "Open", { side: "Provider" }),
  ];
  assert.ok(!takesPods([drained, ...others, agreed("b", "Open", { peerStanding: "Cordoned" })], "b"));
});
