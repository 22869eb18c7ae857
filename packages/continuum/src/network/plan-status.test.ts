import assert from "node:assert/strict";
import { it } from "node:test";
import { AddressPlan, newObject } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { planStatus } from "./plan-status.ts";

it("says what a plan waits for: a peer without spec.network tells no ranges, and one with it may not have named those here", () => {
  const range = "10.42.0.0/16";
  const waiting = (peer: AddressPlan["spec"]["peer"]) => {
    const spec = { site: "wave", own: [{ range }], peer };
    const plan = newObject(AddressPlan, { metadata: { name: "wave" }, spec });
    const { reason, message = "" } = getCondition(planStatus(plan, 0).conditions, "Ready") ?? {};
    return `${reason}: ${message}`;
  };
  assert.match(waiting([]), /^AwaitingPeer: .*has no spec\.network in its own Site/);
  assert.match(waiting([{ range, called: "240.0.0.0/16" }]), /^AwaitingPeer: .*has not told what it calls/);
});
