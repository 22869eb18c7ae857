import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Reachability } from "../../remote-site.ts";
import { judge, sameReadiness } from "./readiness.ts";
import { contractOf } from "./test-objects.ts";

const NOW = Date.parse("2030-01-01T12:00:00Z");
const heard: Reachability = {
  reachable: true,
  since: NOW - 60_000,
  lastHeard: NOW,
  reason: "Dialled",
  message: "it answers",
};
const silentFor = (ms: number, more: Partial<Reachability> = {}): Reachability => ({
  reachable: false,
  since: NOW - ms,
  lastHeard: NOW - ms - 500,
  reason: "TimedOut",
  message: "it did not answer within 750 ms",
  ...more,
});

test("a node whose provider answers is ready", () => {
  assert.deepEqual(judge(contractOf(), heard, 2_000, NOW), {
    readiness: { status: "True", reason: "ProviderReady", message: "the provider answers" },
  });
});

test("a glitch is no loss: the node stays as it is, and is looked at again when it might be one", () => {
  const { readiness, againInMs } = judge(contractOf(), silentFor(1_300), 2_000, NOW);
  assert.ok(sameReadiness(readiness, judge(contractOf(), heard, 2_000, NOW).readiness));
  assert.equal(againInMs, 700);
});

test("a provider that is silent for as long as the owner allows is lost, and the message says since when", () => {
  const { readiness, againInMs } = judge(contractOf(), silentFor(2_000), 2_000, NOW);
  assert.equal(readiness?.status, "Unknown");
  assert.equal(readiness?.reason, "ProviderUnreachable");
  assert.equal(
    readiness?.message,
    "the provider has not answered since 2030-01-01T11:59:57.500Z: it did not answer within 750 ms",
  );
  assert.equal(againInMs, undefined);
});

test("events of two losses say the same, so that they are counted as one", () => {
  const events = [2_000, 90_000].map((ms) => judge(contractOf(), silentFor(ms), 2_000, NOW).readiness?.event);
  assert.equal(events[0], "the provider does not answer (TimedOut); the condition Ready says since when");
  assert.equal(events[1], events[0]);
});

test("nothing is said of a provider that was not asked yet, so that a restart makes no node look ill or well", () => {
  const { lastHeard: _, ...never } = silentFor(100);
  assert.deepEqual(judge(contractOf(), never, 2_000, NOW), { againInMs: 1_900 });
  const { lastHeard: __, ...long } = silentFor(5_000);
  assert.equal(
    judge(contractOf(), long, 2_000, NOW).readiness?.message,
    `the provider has not answered: ${long.message}`,
  );
});

test("the owner decides how long a glitch may be", () => {
  assert.equal(judge(contractOf(), silentFor(900), 500, NOW).readiness?.status, "Unknown");
  assert.equal(judge(contractOf(), silentFor(9_000), 10_000, NOW).readiness?.status, "True");
});

test("without a Site, a contract or a contract in force there is no ready node, whoever answers", () => {
  assert.equal(judge(contractOf(), undefined, 2_000, NOW).readiness?.reason, "ProviderUnreachable");
  assert.equal(judge(undefined, heard, 2_000, NOW).readiness?.reason, "ContractMissing");
  for (const phase of ["Proposed", undefined])
    assert.equal(judge(contractOf({ phase }), heard, 2_000, NOW).readiness?.reason, "ContractNotActive");
  const conditions = [{ type: "Ended", status: "True", reason: "Revoked", message: "", lastTransitionTime: "" }];
  assert.deepEqual(judge(contractOf({ phase: "Ended", conditions }), heard, 2_000, NOW).readiness, {
    status: "False",
    reason: "ContractNotActive",
    message: "contract c-1 has ended: Revoked",
    event: "its contract has ended: Revoked",
  });
});

test("a contract that was superseded is no loss for a minute in which what follows may not be known here yet", () => {
  const superseded = (ms: number) => {
    const lastTransitionTime = new Date(NOW - ms).toISOString();
    const conditions = [{ type: "Ended", status: "True", reason: "Superseded", message: "", lastTransitionTime }];
    return contractOf({ phase: "Ended", conditions });
  };
  const { readiness, againInMs } = judge(superseded(10_000), heard, 2_000, NOW);
  assert.equal(readiness?.reason, "ProviderReady");
  assert.equal(againInMs, 50_000);
  assert.equal(judge(superseded(60_000), heard, 2_000, NOW).readiness?.reason, "ContractNotActive");
  assert.equal(judge(superseded(10_000), silentFor(5_000), 2_000, NOW).readiness?.reason, "ProviderUnreachable");
  assert.equal(judge(superseded(10_000), silentFor(500), 2_000, NOW).againInMs, 1_500);
});

test("a contract that is soon to end is still in force", () => {
  assert.equal(judge(contractOf({ phase: "Expiring" }), heard, 2_000, NOW).readiness?.status, "True");
});

test("silence shorter than the limit never moves a node, longer always does, and the time to look again is exact", () => {
  const times = fc.integer({ min: 0, max: 60_000 });
  const limits = fc.integer({ min: 500, max: 30_000 });
  fc.assert(
    fc.property(times, limits, (silence, limit) => {
      const now = judge(contractOf(), silentFor(silence), limit, NOW);
      assert.equal(now.readiness?.status, silence < limit ? "True" : "Unknown");
      if (now.againInMs === undefined) return;
      assert.equal(judge(contractOf(), silentFor(silence), limit, NOW + now.againInMs).readiness?.status, "Unknown");
      assert.equal(judge(contractOf(), silentFor(silence), limit, NOW + now.againInMs - 1).readiness?.status, "True");
    }),
  );
});
