import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressPlan, newObject } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { proxyPlanStatus } from "./proxy-plan-status.ts";

test("a plan says that some endpoints have no stand-in, and when all have one again", () => {
  const plan: AddressPlan = newObject(AddressPlan, {
    metadata: { name: "wave" },
    spec: {
      site: "wave",
      carrier: "Proxy",
      own: [{ range: "127.88.0.0/22", called: "127.89.128.0/22" }],
      peer: [{ range: "127.89.0.0/22", called: "127.88.128.0/22" }],
    },
  });
  const told = (status: AddressPlan["status"]) => getCondition(status?.conditions, "StandInsComplete")?.reason;
  const before = proxyPlanStatus(plan, 0, 0);
  assert.equal(getCondition(before.conditions, "Ready")?.status, "True");
  assert.equal(told(before), undefined);
  const missing = proxyPlanStatus({ ...plan, status: before }, 7, 0);
  assert.equal(told(missing), "TooMany");
  assert.deepEqual(proxyPlanStatus({ ...plan, status: missing }, 8, 0), missing);
  assert.equal(told(proxyPlanStatus({ ...plan, status: missing }, 0, 0)), "AllHaveOne");
});
