import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { podFacts } from "./pod-facts.ts";
import { SchedulingQueue } from "./scheduling-queue.ts";
import { testPod } from "./test-objects.ts";

const pod = (name: string, priority = 0) => podFacts(testPod(name, { priority }));

describe("the queue of pods without a node", () => {
  it("gives the most important first, then the oldest", () => {
    const queue = new SchedulingQueue({ clock: new ManualClock() });
    for (const one of [pod("a"), pod("b", 5), pod("c"), pod("d", 5)]) queue.set(one);
    assert.deepEqual(
      [queue.take(), queue.take(), queue.take(), queue.take()].map((one) => one?.name),
      ["b", "d", "a", "c"],
    );
    assert.equal(queue.take(), undefined);
  });

  it("gives one that failed again only when something has changed, and not too soon", async () => {
    const clock = new ManualClock();
    const queue = new SchedulingQueue({ clock });
    queue.set(pod("a"));
    const fail = () => queue.failed(queue.take()?.uid ?? assert.fail("nothing to take"));
    fail();
    await clock.advance(60_000);
    assert.equal(queue.take(), undefined);
    queue.changed();
    fail();
    queue.changed();
    await clock.advance(1_999);
    assert.equal(queue.take(), undefined);
    await clock.advance(1);
    fail();
  });

  it("forgets one that is gone, also while it is ready", () => {
    const queue = new SchedulingQueue({ clock: new ManualClock() });
    queue.set(pod("a"));
    queue.delete(pod("a").uid);
    assert.equal(queue.take(), undefined);
    assert.equal(queue.size, 0);
  });

  it("does not give what was taken twice, whatever is told of it meanwhile", () => {
    const queue = new SchedulingQueue({ clock: new ManualClock() });
    queue.set(pod("a"));
    queue.take();
    queue.set(pod("a"));
    queue.changed();
    assert.equal(queue.take(), undefined);
  });

  it("wakes who waits", async () => {
    const queue = new SchedulingQueue({ clock: new ManualClock() });
    const waiting = queue.wait();
    queue.set(pod("a"));
    await waiting;
    assert.equal(queue.take()?.name, "a");
  });
});
