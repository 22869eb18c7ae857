import assert from "node:assert/strict";
import { test } from "node:test";
import { Contract } from "@fjord/api";
import { ManualClock } from "@fjord/base/testing";
import type { KubeClient } from "@fjord/kube";
import { waitUntilDrained } from "./wait-until-drained.ts";

const contract = {
  metadata: { name: "c-1" },
  spec: { terms: { consumer: "a", provider: "b" } },
  status: { side: "Consumer", phase: "Active", conditions: [{ type: "Active", status: "True", reason: "InForce" }] },
};

/** An API that answers so many lists of contracts, and then takes requests and says nothing. */
function silentAfter(answers: number, asked: () => void): KubeClient {
  let left = answers;
  const list = (kind: unknown, { signal }: { signal: AbortSignal }) => {
    if (kind === Contract) asked();
    if (kind === Contract && left-- <= 0)
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    return Promise.resolve({ items: kind === Contract ? [contract] : [] });
  };
  return { list } as unknown as KubeClient;
}

test("the time to wait is over also where the API has stopped answering midway", async () => {
  const clock = new ManualClock();
  const hung = Promise.withResolvers<void>();
  let asked = 0;
  const client = silentAfter(1, () => {
    asked += 1;
    if (asked === 2) hung.resolve();
  });
  const told: string[] = [];
  const drained = waitUntilDrained(client, "c-1", {
    signal: new AbortController().signal,
    clock,
    timeoutMs: 5_000,
    what: "contract c-1 was not drained",
    told: (line) => {
      told.push(line);
      // It sleeps next.
      setImmediate(() => clock.advance(600));
    },
  });
  const end = assert.rejects(drained, {
    code: "CLI_TIMED_OUT",
    message: /contract c-1 was not drained within 5 s; last: c-1: waiting for the agent/,
  });
  await hung.promise;
  clock.advance(10_000);
  await end;
  assert.deepEqual(told, ["c-1: waiting for the agent"]);
});

test("whoever interrupts it is told of that, not of the time", async () => {
  const clock = new ManualClock();
  const interrupt = new AbortController();
  const hung = Promise.withResolvers<void>();
  const client = silentAfter(0, hung.resolve);
  const options = { signal: interrupt.signal, clock, timeoutMs: 5_000, what: "x" };
  const end = assert.rejects(waitUntilDrained(client, "c-1", options), { message: "by hand" });
  await hung.promise;
  interrupt.abort(new Error("by hand"));
  await end;
});
