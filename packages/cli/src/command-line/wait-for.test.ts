import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment, type KubeClient } from "@fjord/kube";
import { TimedOut, WishRefused } from "../errors.ts";
import { type Progress, waitFor } from "./wait-for.ts";

const key = { name: "web", namespace: "shop" };

/** Rejects when a signal aborts. A signal's own time keeps no process alive. */
function until(signal: AbortSignal): Promise<never> {
  const alive = setInterval(() => {}, 60_000);
  return new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  }).finally(() => clearInterval(alive));
}

/** A client of an object that never changes. */
const client = {
  get: async () => ({ metadata: { name: "web", resourceVersion: "1" } }),
  watch: (_kind: unknown, { signal }: { signal: AbortSignal }) => ({
    [Symbol.asyncIterator]: () => ({ next: () => until(signal) }),
  }),
} as unknown as KubeClient;

const wait = (look: () => Promise<Progress>, more: object = {}) =>
  waitFor(client, Deployment, key, look, {
    signal: new AbortController().signal,
    timeoutMs: 20,
    what: "web was not there",
    ...more,
  });

const waiting = async (): Promise<Progress> => ({ done: false, progress: "1 of 2 pods" });
const refused = async (): Promise<Progress> => ({ done: false, progress: "no", refused: true });

test("says when its time is over how far it was, in the words of whoever knows what to do", async () => {
  await assert.rejects(wait(waiting), TimedOut);
  const late = (seconds: number, last: string) => new Error(`${seconds} s, ${last}`);
  await assert.rejects(wait(waiting, { late }), /0\.02 s, 1 of 2 pods/);
});

test("waits for what is left of a time, to the fraction", async () => {
  await assert.rejects(wait(waiting, { timeoutMs: 19.8984375 }), TimedOut);
});

test("ends at once where waiting does not help", async () => {
  await assert.rejects(wait(refused, { timeoutMs: 600_000 }), WishRefused);
  const refusal = (reason: string) => new Error(`it was told ${reason}`);
  await assert.rejects(wait(refused, { timeoutMs: 600_000, refusal }), /it was told no/);
});

test("what is looked up for it ends with its time", async () => {
  const look = (_: Deployment | undefined, signal: AbortSignal) => until(signal);
  const options = { signal: new AbortController().signal, timeoutMs: 20, what: "web was not there" };
  await assert.rejects(waitFor(client, Deployment, key, look, options), TimedOut);
});
