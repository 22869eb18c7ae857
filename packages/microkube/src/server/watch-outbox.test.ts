import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { WatchOutbox } from "./watch-outbox.ts";

/** A sender that takes a millisecond, and tells what it has sent. */
class Slow {
  static now = 0;
  readonly sent: string[][] = [];
  #pending: string[] = [];
  readonly #outbox: WatchOutbox;

  constructor(outbox: WatchOutbox) {
    this.#outbox = outbox;
  }

  tell(text: string): void {
    this.#pending.push(text);
    this.#outbox.add(this);
  }

  flush(): void {
    Slow.now++;
    this.sent.push(this.#pending);
    this.#pending = [];
  }
}

test("a few are told in the same turn, all that was written in it together", async () => {
  const outbox = new WatchOutbox(() => Slow.now);
  const one = new Slow(outbox);
  one.tell("a");
  one.tell("b");
  assert.deepEqual(one.sent, []);
  await Promise.resolve();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.deepEqual(one.sent, [["a", "b"]]);
});

test("many are told in turns, each all of it in order, and with more where that came meanwhile", async () => {
  const outbox = new WatchOutbox(() => Slow.now);
  const crowd = Array.from({ length: 200 }, () => new Slow(outbox));
  for (const one of crowd) one.tell("a");
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const told = () => crowd.filter(({ sent }) => sent.length > 0).length;
  assert.ok(told() > 0 && told() < 200, `${told()} were told at once`);
  for (const one of crowd) one.tell("b");
  for (let i = 0; crowd.some(({ sent }) => sent.flat().length < 2); i++) {
    assert.ok(i < 1000, "they wait forever");
    await turn();
  }
  for (const { sent } of crowd) assert.deepEqual(sent.flat(), ["a", "b"]);
  assert.ok(crowd.some(({ sent }) => sent.length === 1));
});

test("what several wait for is made once", () => {
  const outbox = new WatchOutbox();
  const [a, b, c] = ["a", "b", "c"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];
  const joined = outbox.join([a, b]);
  assert.equal(String(joined), "ab");
  assert.equal(outbox.join([a, b]), joined);
  assert.equal(String(outbox.join([a, c])), "ac");
  assert.equal(String(outbox.join([a, b, c])), "abc");
  assert.equal(outbox.join([a]), a);
});
