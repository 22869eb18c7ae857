import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contract } from "@fjord/api";
import { worthShowing } from "./status.ts";

const contract = (name: string, phase: string, more: object = {}) =>
  ({ metadata: { name }, spec: { standing: "Open", ...more }, status: { phase } }) as unknown as Contract;
const namesOf = ({ shown }: { shown: Contract[] }) => shown.map(({ metadata }) => metadata.name);

test("contracts that are over are counted, but for the one that a peering speaks of", () => {
  const all = [contract("c-1", "Ended"), contract("c-2", "Active"), contract("c-3", "Ended"), contract("c-4", "Ended")];
  const peerings = [{ status: { contract: "c-3" } }, {}];
  const told = worthShowing(all, peerings, false);
  assert.deepEqual([namesOf(told), told.hidden], [["c-2", "c-3"], 2]);
  const whole = worthShowing(all, peerings, true);
  assert.deepEqual([namesOf(whole).length, whole.hidden], [4, 0]);
});

test("a contract that is over and keeps its consumer from another is shown", () => {
  const conditions = [{ type: "Ended", status: "True", reason: "Cancelled" }];
  const over = contract("c-1", "Ended", { standing: "Cordoned" });
  const kept = { ...over, status: { phase: "Ended", side: "Provider", conditions } } as unknown as Contract;
  assert.deepEqual(worthShowing([kept, contract("c-2", "Ended")], [], false), { shown: [kept], hidden: 1 });
});
