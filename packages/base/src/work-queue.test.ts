import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ManualClock } from "./manual-clock.ts";
import { WorkQueue, type WorkQueueObserver } from "./work-queue.ts";

const never = new AbortController().signal;

function makeQueue(options: { observer?: WorkQueueObserver; retryRate?: { burst: number; perSecond: number } } = {}) {
  const clock = new ManualClock();
  const backoff = { initial: 100, max: 1000, jitter: 0 };
  return { clock, queue: new WorkQueue({ clock, random: () => 0, backoff, ...options }) };
}

/** What `next` gives without waiting, or "nothing". */
async function taken(queue: WorkQueue): Promise<string | undefined> {
  const stop = new AbortController();
  const key = queue.next(stop.signal);
  stop.abort();
  return (await key) ?? "nothing";
}

describe("WorkQueue", () => {
  test("gives keys in the order they were added, each once however often it was added", async () => {
    const { queue } = makeQueue();
    for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
    assert.equal(queue.depth, 3);
    assert.deepEqual([await taken(queue), await taken(queue), await taken(queue)], ["a", "b", "c"]);
    assert.equal(await taken(queue), "nothing");
  });

  test("gives a key that was added while a worker had it once more, after that worker is done", async () => {
    const { queue } = makeQueue();
    queue.add("a");
    assert.equal(await taken(queue), "a");
    queue.add("a");
    queue.add("a");
    assert.equal(await taken(queue), "nothing");
    queue.done("a");
    assert.equal(await taken(queue), "a");
    queue.done("a");
    assert.equal(await taken(queue), "nothing");
  });

  test("wakes one waiting worker per key, the one that waited longest first", async () => {
    const { queue } = makeQueue();
    const order: string[] = [];
    const workers = ["first", "second"].map(async (name) => order.push(`${name} ${await queue.next(never)}`));
    queue.add("a");
    queue.add("b");
    await Promise.all(workers);
    assert.deepEqual(order, ["first a", "second b"]);
  });

  test("a worker that stops waiting takes no key with it", async () => {
    const { queue } = makeQueue();
    const stop = new AbortController();
    const waiting = queue.next(stop.signal);
    stop.abort();
    queue.add("a");
    assert.equal(await waiting, undefined);
    assert.equal(await taken(queue), "a");
  });

  test("keeps the earliest of several delays, and one timer for all of them", async () => {
    const { queue, clock } = makeQueue();
    queue.addAfter("a", 500);
    queue.addAfter("b", 300);
    queue.addAfter("a", 200);
    queue.addAfter("a", 900);
    assert.equal(clock.pending, 1);
    assert.equal(queue.delayed, 2);
    await clock.advance(199);
    assert.equal(queue.depth, 0);
    await clock.advance(1);
    assert.equal(await taken(queue), "a");
    await clock.advance(1000);
    assert.equal(await taken(queue), "b");
    assert.equal(clock.pending, 0);
  });

  test("a delay longer than timers can be set to still waits its time", async () => {
    const { queue, clock } = makeQueue();
    const month = 30 * 24 * 3600 * 1000;
    queue.addAfter("a", month);
    await clock.advance(month - 1);
    assert.equal(queue.depth, 0);
    await clock.advance(1);
    assert.equal(queue.depth, 1);
  });

  test("waits longer after each failure in a row, until the key is forgotten", async () => {
    const { queue, clock } = makeQueue();
    for (const delay of [100, 200, 400, 800, 1000, 1000]) {
      queue.addRateLimited("a");
      await clock.advance(delay - 1);
      assert.equal(queue.depth, 0, `before ${delay} ms`);
      await clock.advance(1);
      assert.equal(await taken(queue), "a");
      queue.done("a");
    }
    assert.equal(queue.failures("a"), 6);
    queue.forget("a");
    queue.addRateLimited("a");
    await clock.advance(100);
    assert.equal(await taken(queue), "a");
  });

  test("bounds the retries of all keys together", async () => {
    const { queue, clock } = makeQueue({ retryRate: { burst: 2, perSecond: 1 } });
    for (const key of ["a", "b", "c", "d"]) queue.addRateLimited(key);
    await clock.advance(100);
    assert.equal(queue.depth, 2);
    await clock.advance(900);
    assert.equal(queue.depth, 3);
    await clock.advance(1000);
    assert.equal(queue.depth, 4);
  });

  test("once shut down, takes nothing more, gives out what was ready, and tells when that is done", async () => {
    const { queue, clock } = makeQueue();
    queue.add("a");
    queue.add("b");
    queue.addAfter("late", 10);
    assert.equal(await taken(queue), "a");
    queue.add("a");
    let drained = false;
    const drain = queue.shutDown().then(() => {
      drained = true;
    });
    queue.add("c");
    await clock.advance(100);
    assert.equal(await queue.next(never), "b");
    queue.done("b");
    const again = queue.next(never);
    queue.done("a");
    assert.equal(await again, "a", "was added again before the shut-down");
    await clock.advance(0);
    assert.equal(drained, false);
    const last = queue.next(never);
    queue.done("a");
    assert.equal(await last, undefined);
    await drain;
  });

  test("tells an observer what dashboards need", async () => {
    const seen: unknown[] = [];
    const { queue, clock } = makeQueue({
      observer: {
        added: (depth) => seen.push(["added", depth]),
        taken: (waited, depth) => seen.push(["taken", waited, depth]),
        done: (worked) => seen.push(["done", worked]),
        retried: () => seen.push(["retried"]),
      },
    });
    queue.add("a");
    queue.add("a");
    await clock.advance(30);
    await taken(queue);
    await clock.advance(50);
    assert.deepEqual(queue.unfinished(), { total: 50, longest: 50 });
    queue.addRateLimited("a");
    queue.done("a");
    assert.deepEqual(queue.unfinished(), { total: 0, longest: 0 });
    assert.deepEqual(seen, [["added", 1], ["taken", 30, 0], ["retried"], ["done", 50]]);
  });
});
