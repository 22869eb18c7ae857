import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { silentLogger, systemClock } from "@fjord/base";
import { NodeWatch } from "./node-watch.ts";

const TAKEN = "Deleted 7443:\tfrom all lookup 7443";

/** A node whose monitor says whatever a test has it say. */
function playedNode() {
  const stop = new AbortController();
  const node = {
    changedAt: Number.NEGATIVE_INFINITY,
    say: (_line: string) => {},
    looks: 0,
    isOwn: () => false,
    async follow(command: readonly string[], read: (line: string) => void, signal: AbortSignal) {
      if (command[0] === "ip") node.say = read;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
    async end() {
      stop.abort();
      await run;
    },
  };
  const watch = new NodeWatch({ network: node, clock: systemClock, logger: silentLogger });
  const run = watch.run(() => {
    node.looks++;
  }, stop.signal);
  return node;
}

test("what others take away is looked at as soon as it is heard", async () => {
  const node = playedNode();
  node.say(TAKEN);
  assert.equal(node.looks, 1);
  node.say("7443:\tfrom all lookup 7443");
  assert.equal(node.looks, 1);
  await node.end();
});

test("what is heard right after an own change may be another's: it is looked at, once, when that is over", async () => {
  const node = playedNode();
  node.changedAt = performance.now();
  for (let i = 0; i < 5; i++) node.say(TAKEN);
  assert.equal(node.looks, 0);
  for (const end = Date.now() + 10_000; node.looks === 0 && Date.now() < end; ) await sleep(10);
  assert.equal(node.looks, 1);
  await node.end();
});

test("nothing is looked at after its end", async () => {
  const node = playedNode();
  node.changedAt = performance.now();
  node.say(TAKEN);
  await node.end();
  await sleep(400);
  assert.equal(node.looks, 0);
});
