import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition } from "@fjord/base";
import { LASTING_MS, ReadinessNews } from "./readiness-news.ts";
import type { Told } from "./virtual-node-status.ts";

const NOW = Date.parse("2030-01-01T12:00:00Z");
const there: Told = { status: "True", reason: "ProviderReady", message: "" };
const lost: Told = { status: "Unknown", reason: "ProviderUnreachable", message: "" };
const ended: Told = { status: "False", reason: "ContractNotActive", message: "" };
const conditionOf = ({ status, reason }: Told, at: number): Condition => ({
  type: "Ready",
  status,
  reason,
  message: "",
  lastTransitionTime: new Date(at).toISOString(),
});

test("a node that becomes ready for the first time is told of at once, and a loss too, each once", () => {
  const news = new ReadinessNews();
  assert.deepEqual(news.next("wave", there, undefined, NOW), { tell: true });
  assert.deepEqual(news.next("wave", there, undefined, NOW + 10), { tell: false });
  assert.deepEqual(news.next("wave", lost, undefined, NOW + 20), { tell: true });
  assert.deepEqual(news.next("wave", lost, undefined, NOW + 30), { tell: false });
  assert.deepEqual(news.next("wave", ended, undefined, NOW + 40), { tell: true });
});

test("a node whose contract came after it returns from nowhere: it is told of at once", () => {
  const news = new ReadinessNews();
  assert.deepEqual(news.next("wave", ended, undefined, NOW), { tell: true });
  assert.deepEqual(news.next("wave", there, undefined, NOW + 10), { tell: true });
});

test("a return is told when it has lasted, and the time to look again is exact", () => {
  const news = new ReadinessNews();
  news.next("wave", there, undefined, NOW);
  news.next("wave", lost, undefined, NOW);
  assert.deepEqual(news.next("wave", there, undefined, NOW + 5_000), { tell: false, againInMs: LASTING_MS });
  const later = news.next("wave", there, undefined, NOW + 15_000);
  assert.deepEqual(later, { tell: false, againInMs: LASTING_MS - 10_000 });
  assert.deepEqual(news.next("wave", there, undefined, NOW + 5_000 + LASTING_MS), { tell: true });
});

test("a provider that comes and goes for half an hour is told of as lost once, and as there once it stays", () => {
  const news = new ReadinessNews();
  const told: string[] = [];
  const look = (ready: Told, at: number) => {
    if (news.next("wave", ready, undefined, NOW + at).tell) told.push(ready.reason);
  };
  look(there, 0);
  for (let at = 10_000; at < 1_800_000; at += 25_000) {
    look(lost, at);
    look(there, at + 5_000);
  }
  look(there, 1_900_000);
  assert.deepEqual(told, ["ProviderReady", "ProviderUnreachable", "ProviderReady"]);
});

test("a process that is started anew tells nothing again, and a return that the one before had not told yet", () => {
  const restarted = (ready: Told, before: Condition) => new ReadinessNews().next("wave", ready, before, NOW);
  assert.deepEqual(restarted(there, conditionOf(there, NOW - LASTING_MS)), { tell: false });
  assert.deepEqual(restarted(lost, conditionOf(lost, NOW - 1_000)), { tell: false });
  assert.deepEqual(restarted(lost, conditionOf(there, NOW - LASTING_MS)), { tell: true });
  assert.deepEqual(restarted(there, conditionOf(there, NOW - 10_000)), { tell: false, againInMs: LASTING_MS - 10_000 });
  assert.deepEqual(restarted(there, conditionOf(lost, NOW - 60_000)), { tell: false, againInMs: LASTING_MS });
});

test("a clock that is set back keeps no news for longer than a return has to last", () => {
  const news = new ReadinessNews();
  news.next("wave", there, undefined, NOW);
  news.next("wave", lost, undefined, NOW);
  news.next("wave", there, undefined, NOW);
  const { againInMs } = news.next("wave", there, undefined, NOW - 3_600_000);
  assert.equal(againInMs, LASTING_MS);
});

test("nodes are told of apart, and one that is made again is told of anew", () => {
  const news = new ReadinessNews();
  assert.deepEqual(news.next("wave", there, undefined, NOW), { tell: true });
  assert.deepEqual(news.next("shore", there, undefined, NOW), { tell: true });
  news.forget("wave");
  assert.deepEqual(news.next("wave", there, undefined, NOW), { tell: true });
});
