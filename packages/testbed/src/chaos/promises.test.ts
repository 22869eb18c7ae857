import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contract } from "@fjord/api";
import { brokenPromise as promisesOf } from "./promises.ts";
import { predecessorOf } from "./succession.ts";
import { SHARED_CPU } from "./topology.ts";

function contract(
  id: string,
  cpu: number,
  more: { supersedes?: string; phase?: string; side?: string } = {},
): Contract {
  const { supersedes, phase = "Active", side = "Provider" } = more;
  const terms = { id, resources: { cpu, pods: 1 }, ...(supersedes !== undefined && { supersedes }) };
  return { metadata: { name: id }, spec: { terms, standing: "Open" }, status: { phase, side } } as unknown as Contract;
}

/** With those that are over and gone. */
const brokenPromise = (contracts: Contract[], gone: Contract[] = []) =>
  promisesOf(contracts, new Map([...contracts, ...gone].map(predecessorOf)));

test("what is promised to several adds up", () => {
  assert.equal(brokenPromise([contract("a", SHARED_CPU - 1), contract("b", 1)]), undefined);
  assert.match(brokenPromise([contract("a", SHARED_CPU), contract("b", 1)]) ?? "", /promises 41 cpu/);
});

test("a contract and the one that supersedes it count as the larger of both", () => {
  const line = [contract("a", 20), contract("b", 30, { supersedes: "a" }), contract("c", 10)];
  assert.equal(brokenPromise(line), undefined);
  assert.match(brokenPromise([...line, contract("d", 1)]) ?? "", /promises 41 cpu/);
});

test("two that are to supersede one contract are of its line, be it over or gone", () => {
  const both = [contract("b", 30, { supersedes: "a" }), contract("c", 30, { supersedes: "a", phase: "Proposed" })];
  assert.equal(brokenPromise(both), undefined);
  assert.equal(brokenPromise([contract("a", 30, { phase: "Ended" }), ...both]), undefined);
  assert.match(brokenPromise([...both, contract("d", 11)]) ?? "", /promises 41 cpu/);
});

test("those at the ends of a line are of it, though the one between is gone", () => {
  const between = contract("b", 30, { supersedes: "a" });
  const ends = [contract("a", 30, { phase: "Expiring" }), contract("c", 30, { supersedes: "b" })];
  assert.equal(brokenPromise(ends, [between]), undefined);
  assert.match(brokenPromise([...ends, contract("d", 11)], [between]) ?? "", /promises 41 cpu/);
});

test("what is over or was promised by others does not count", () => {
  const others = [contract("b", 30, { phase: "Ended" }), contract("c", 30, { side: "Consumer" })];
  assert.equal(brokenPromise([contract("a", 30), ...others]), undefined);
});
