import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ApiError, ConnectionError } from "@fjord/kube";
import { patiently } from "./patience.ts";

const away = new ConnectionError({ action: "get it", server: "https://api", reason: "connect ECONNREFUSED" } as never);
const refused = new ApiError({ action: "get it", statusCode: 403 });

/** Gives what is asked for after these errors. */
async function asked(errors: readonly unknown[]) {
  const clock = new ManualClock();
  const left = [...errors];
  const ask = async () => {
    if (left.length === 0) return "answer";
    throw left.shift();
  };
  const { signal } = new AbortController();
  let over = false;
  const answer = patiently(ask, { clock, random: () => 0, logger: silentLogger, signal }).finally(() => {
    over = true;
  });
  answer.catch(() => {});
  while (!over) {
    await new Promise(setImmediate);
    clock.advance(500);
  }
  return answer;
}

test("an API that is away is waited for", async () => {
  assert.equal(await asked(Array.from({ length: 30 }, () => away)), "answer");
});

test("a refusal is believed only when it lasts", async () => {
  assert.equal(await asked([refused, refused, away, refused]), "answer");
  await assert.rejects(asked(Array.from({ length: 100 }, () => refused)), (error) => error === refused);
});

test("what no waiting can change is told at once", async () => {
  await assert.rejects(asked([new Error("damaged")]), /damaged/);
});
