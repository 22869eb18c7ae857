import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import fc from "fast-check";
import { Turns } from "./turns.ts";

const turns = (limit: number, clock = systemClock) => new Turns({ limit, patience: 1000, clock });
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test("never more run at once than may, and all get their turn", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.array(fc.integer({ min: 0, max: 3 })), async (limit, all) => {
      const few = turns(limit);
      let running = 0;
      let most = 0;
      const tasks = all.map((priority) =>
        few.run(priority, async () => {
          most = Math.max(most, ++running);
          await settled();
          running--;
        }),
      );
      await Promise.all(tasks);
      assert.ok(most <= limit);
    }),
    { numRuns: 30 },
  );
});

test("what is nearer to its end goes first, else whoever came first", async () => {
  const one = turns(1);
  const order: string[] = [];
  const task = (name: string, priority: number) => one.run(priority, async () => void order.push(name));
  await Promise.all([task("first", 0), task("low", 0), task("high", 2), task("middle", 1), task("high too", 2)]);
  assert.deepEqual(order, ["first", "high", "high too", "middle", "low"]);
});

test("one that fails gives its turn on", async () => {
  const one = turns(1);
  await assert.rejects(
    one.run(0, () => Promise.reject(new Error("no"))),
    { message: "no" },
  );
  assert.equal(await one.run(0, async () => "yes"), "yes");
});

test("one that hangs keeps others waiting only for a while", async () => {
  const clock = new ManualClock();
  const one = turns(1, clock);
  const hanging = Promise.withResolvers<void>();
  const hangs = one.run(0, () => hanging.promise);
  let ran = false;
  const other = one.run(0, async () => {
    ran = true;
  });
  await settled();
  assert.equal(ran, false);
  await clock.advance(1000);
  await other;
  hanging.resolve();
  await hangs;
});

test("whoever gives up waiting is not called", async () => {
  const one = turns(1);
  const hanging = Promise.withResolvers<void>();
  const hangs = one.run(0, () => hanging.promise);
  const stop = new AbortController();
  const waits = one.run(0, () => assert.fail("called"), stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(waits, { message: "enough" });
  await assert.rejects(
    one.run(0, () => assert.fail("called"), stop.signal),
    { message: "enough" },
  );
  hanging.resolve();
  await hangs;
  assert.equal(await one.run(0, async () => 1), 1);
});
