import assert from "node:assert/strict";
import { test } from "node:test";
import type { Peering } from "@fjord/api";
import { limitOf, otherAmountsMissed, peeringMessage, peeringReason, wasRefused } from "./peering-message.ts";

type Step = readonly [type: string, status: string, message: string];

const peering = (...steps: readonly Step[]) =>
  ({
    status: { conditions: steps.map(([type, status, message]) => ({ type, status, reason: "Why", message })) },
  }) as unknown as Peering;

test("amounts that a peering in force was refused are told with why", () => {
  const refused = peering(
    ["Agreed", "True", "c-1 is in force; other amounts: cpu 1000 is more than there is; available: cpu 750m"],
    ["Ready", "True", ""],
  );
  const reason = "cpu 1000 is more than there is; available: cpu 750m";
  assert.equal(otherAmountsMissed(refused), reason);
  assert.equal(peeringMessage(refused), `other amounts: ${reason}`);
});

test("what a provider limits is told beside what was asked for", () => {
  const message = "c-1 is in force; limited by its provider: cpu 500m of 1; it ends at 2030, and is not renewed";
  const limited = peering(["Agreed", "True", message], ["Ready", "True", ""]);
  assert.equal(limitOf(limited), "cpu 500m of 1");
  assert.equal(peeringMessage(limited), message);
  assert.equal(limitOf(peering(["Agreed", "True", "c-1 until 2030-01-01T00:00:00Z"])), undefined);
});

test("who was refused, for whatever reason, asks anew by repeating it", () => {
  const agreed = (reason: string, message = "") =>
    ({ status: { conditions: [{ type: "Agreed", reason, message }] } }) as unknown as Peering;
  for (const reason of ["AmountRefused", "NotSharing", "ConsumerRefused"])
    assert.equal(wasRefused(agreed(reason)), true);
  for (const reason of ["ContractActive", "Asking", "NotPaired"]) assert.equal(wasRefused(agreed(reason)), false);
  assert.equal(
    wasRefused(agreed("ContractActive", "c-1 is in force; other amounts: cpu 9 is more than there is")),
    true,
  );
  assert.equal(wasRefused({}), false);
});

test("a renewal that was refused is told, and a contract that goes on is not", () => {
  const due = "c-1 is in force; its renewal: the provider shares nothing";
  assert.equal(peeringMessage(peering(["Agreed", "True", due], ["Ready", "True", ""])), due);
  const plain = peering(["Agreed", "True", "c-1 until 2030-01-01T00:00:00Z"], ["Ready", "True", ""]);
  assert.deepEqual([peeringMessage(plain), otherAmountsMissed(plain)], ["", undefined]);
});

test("what is not agreed on is told by the step that says why", () => {
  const asking = peering(
    ["Paired", "True", ""],
    ["Agreed", "False", "cpu 1000 is more than there is"],
    ["Realised", "False", ""],
    ["Ready", "False", ""],
  );
  assert.equal(peeringMessage(asking), "cpu 1000 is more than there is");
  const silent = peering(["Agreed", "True", "c-1 until later"], ["Ready", "False", "no answer in time"]);
  assert.equal(peeringMessage(silent), "no answer in time");
  assert.equal(peeringMessage({}), "");
});

test("why there is no contract is the reason, not that there is none", () => {
  const over = (agreed: string, ready: string) =>
    ({
      status: {
        conditions: [
          { type: "Agreed", status: "False", reason: agreed, message: "" },
          { type: "Ready", status: "False", reason: ready, message: "" },
        ],
      },
    }) as unknown as Peering;
  assert.equal(peeringReason(over("ContractEnded", "NotAgreed")), "ContractEnded");
  assert.equal(peeringReason(over("ContractEnded", "SiteUnreachable")), "SiteUnreachable");
  assert.equal(peeringReason({}), undefined);
});
