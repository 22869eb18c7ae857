import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ManualClock } from "./manual-clock.ts";
import { WorkQueue } from "./work-queue.ts";

const someKey = fc.constantFrom("a", "b", "c", "d", "e");
const someStep = fc.oneof(
  fc.record({ do: fc.constant("add" as const), key: someKey }),
  fc.record({ do: fc.constant("addAfter" as const), key: someKey, ms: fc.integer({ min: 0, max: 50 }) }),
  fc.record({ do: fc.constant("retry" as const), key: someKey }),
  fc.record({ do: fc.constant("forget" as const), key: someKey }),
  fc.record({ do: fc.constant("hire" as const) }),
  fc.record({ do: fc.constant("dismiss" as const), at: fc.nat(3) }),
  fc.record({ do: fc.constant("finish" as const), at: fc.nat(3) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 40 }) }),
);
type Step = typeof someStep extends fc.Arbitrary<infer T> ? T : never;

/** A world of workers and a queue, checked against the laws while it runs. */
class World {
  readonly clock = new ManualClock();
  // No jitter, so that it is known when each key is due.
  readonly queue = new WorkQueue({ clock: this.clock, random: () => 0, backoff: { initial: 4, max: 64 } });
  /** Keys that workers have. */
  readonly working: string[] = [];
  readonly waiting: AbortController[] = [];
  broken: unknown;
  /** Keys that a worker must yet be given. */
  readonly owed = new Set<string>();
  /** Keys that will be owed, and when. */
  readonly due = new Map<string, number>();
  /** For each key that is ready: which others were given out since. */
  readonly overtakers = new Map<string, Set<string>>();

  async step(step: Step): Promise<void> {
    if (step.do === "add") this.want(step.key, 0, () => this.queue.add(step.key));
    if (step.do === "addAfter") this.want(step.key, step.ms, () => this.queue.addAfter(step.key, step.ms));
    if (step.do === "retry") {
      const delay = Math.min(64, 4 * 2 ** this.queue.failures(step.key));
      this.want(step.key, delay, () => this.queue.addRateLimited(step.key));
    }
    if (step.do === "forget") this.queue.forget(step.key);
    if (step.do === "hire") this.hire();
    if (step.do === "dismiss") this.waiting.splice(step.at, 1)[0]?.abort();
    if (step.do === "finish") this.finish(step.at);
    if (step.do === "wait") await this.clock.advance(step.ms);
    await this.clock.advance(0);
    this.check();
  }

  want(key: string, ms: number, add: () => void): void {
    if (ms === 0) this.owed.add(key);
    else this.due.set(key, Math.min(this.due.get(key) ?? Number.POSITIVE_INFINITY, this.clock.now() + ms));
    add();
  }

  letTimePass(): void {
    for (const [key, at] of this.due) {
      if (at > this.clock.now()) continue;
      this.due.delete(key);
      this.owed.add(key);
    }
  }

  hire(): void {
    const stop = new AbortController();
    this.waiting.push(stop);
    void this.queue
      .next(stop.signal)
      .then((key) => {
        const at = this.waiting.indexOf(stop);
        if (at >= 0) this.waiting.splice(at, 1);
        if (key !== undefined) this.begin(key);
      })
      .catch((broken: unknown) => {
        this.broken = broken;
      });
  }

  begin(key: string): void {
    assert.ok(!this.working.includes(key), `two workers have ${key}`);
    for (const [ready, overtakers] of this.overtakers) {
      if (ready === key) continue;
      assert.ok(!overtakers.has(key), `${key} was given out twice while ${ready} was ready`);
      overtakers.add(key);
    }
    this.overtakers.delete(key);
    this.letTimePass();
    this.owed.delete(key);
    this.working.push(key);
  }

  finish(at: number): void {
    const [key] = this.working.splice(at, 1);
    if (key !== undefined) this.queue.done(key);
  }

  check(): void {
    if (this.broken !== undefined) throw this.broken;
    this.letTimePass();
    const ready = [...this.owed].filter((key) => !this.working.includes(key));
    for (const key of ready) if (!this.overtakers.has(key)) this.overtakers.set(key, new Set());
    assert.equal(this.queue.depth, ready.length, `owed: ${ready}`);
    assert.ok(this.waiting.length === 0 || this.queue.depth === 0, "a worker waits beside a key that is ready");
    assert.ok(this.clock.pending <= 1, "one timer at most");
  }

  /** Lets workers take all that is owed, for as long as it takes. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 200 && this.owed.size + this.due.size > 0; turn++) {
      this.finish(0);
      if (this.waiting.length === 0) this.hire();
      await this.clock.advance(this.queue.depth > 0 ? 0 : 5);
    }
    assert.deepEqual([...this.owed, ...this.due.keys()], [], "added, and never given out");
  }
}

test("never two workers on one key, nothing added is lost, none overtaken twice", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(someStep, { maxLength: 60 }), async (steps) => {
      const world = new World();
      for (const step of steps) await world.step(step);
      await world.settle();
    }),
    { numRuns: 300 },
  );
});

test("of delays asked for at random times each key keeps the earliest", async () => {
  const wish = fc.record({
    key: someKey,
    ms: fc.integer({ min: 1, max: 1000 }),
    pause: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(wish, { minLength: 1, maxLength: 200 }), async (wishes) => {
      const clock = new ManualClock(0);
      const queue = new WorkQueue({ clock, random: () => 0 });
      const earliest = new Map<string, number>();
      const given = new Map<string, number>();
      const take = async () => {
        for (;;) {
          const key = await queue.next(never);
          if (key === undefined) return;
          if (!given.has(key)) given.set(key, clock.now());
        }
      };
      const never = new AbortController().signal;
      void take();
      for (const { key, ms, pause } of wishes) {
        await clock.advance(pause);
        if (given.has(key)) continue;
        queue.addAfter(key, ms);
        earliest.set(key, Math.min(earliest.get(key) ?? Number.POSITIVE_INFINITY, clock.now() + ms));
      }
      await clock.advance(1001);
      assert.deepEqual(new Map([...given].sort()), new Map([...earliest].sort()));
    }),
    { numRuns: 100 },
  );
});

test("a hundred thousand keys pass through in well under a second of work", async () => {
  const queue = new WorkQueue({ clock: new ManualClock(), random: () => 0 });
  const stop = new AbortController().signal;
  const count = 100_000;
  const started = process.cpuUsage();
  for (let i = 0; i < count; i++) queue.addAfter(`delayed-${i}`, 1000 + ((i * 7919) % count));
  for (let i = 0; i < count; i++) queue.add(`key-${i}`);
  for (let i = 0; i < count; i++) queue.done((await queue.next(stop)) ?? "");
  assert.equal(queue.depth, 0);
  const { user, system } = process.cpuUsage(started);
  assert.ok(user + system < 5_000_000, "generous: quadratic steps would take minutes");
});
