import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contract } from "@fjord/api";
import { isEndedForGood, newestOf } from "./contract-line.ts";
import { contractOf } from "./test-objects.ts";

const line = (next: Record<string, string | undefined>) => (name: string) =>
  name in next ? ({ ...contractOf({ supersededBy: next[name] }), metadata: { name } } as Contract) : undefined;

test("a contract that was renewed or resized stands for the newest of its line", () => {
  const get = line({ a: "b", b: "c", c: undefined });
  for (const name of ["a", "b", "c"]) assert.equal(newestOf(name, get)?.metadata.name, "c");
  assert.equal(newestOf("x", get), undefined);
});

test("a successor that is not there yet leaves the old one, and a circle ends", () => {
  assert.equal(newestOf("a", line({ a: "b" }))?.metadata.name, "a");
  assert.ok(newestOf("a", line({ a: "b", b: "a" })));
});

test("a contract that an owner has ended is over for good, one that ran out or was renewed is not", () => {
  const ended = (reason: string, status = "True") =>
    ({ status: { conditions: [{ type: "Ended", status, reason }] } }) as unknown as Contract;
  for (const reason of ["Revoked", "Cancelled", "PeerRemoved"]) assert.equal(isEndedForGood(ended(reason)), true);
  for (const reason of ["Expired", "Superseded"]) assert.equal(isEndedForGood(ended(reason)), false);
  assert.equal(isEndedForGood(ended("InForce", "False")), false);
  assert.equal(isEndedForGood(undefined), false);
});

test("a contract that ran out as its consumer would not renew it is over for good, too", () => {
  const ranOut = (expiring: string) => {
    const conditions = [
      { type: "Ended", status: "True", reason: "Expired" },
      { type: "Expiring", status: "True", reason: expiring },
    ];
    return { status: { conditions } } as unknown as Contract;
  };
  assert.equal(isEndedForGood(ranOut("NotRenewed")), true);
  for (const reason of ["RenewalPending", "RenewalRefused", "ProviderUnreachable"])
    assert.equal(isEndedForGood(ranOut(reason)), false);
});
