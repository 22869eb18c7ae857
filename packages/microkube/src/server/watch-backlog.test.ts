import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ManualClock } from "@fjord/base/testing";
import type { ExchangeResponse } from "./exchange.ts";
import { WatchBacklog } from "./watch-backlog.ts";
import { frame } from "./watch-frame.ts";
import { WatchOutbox } from "./watch-outbox.ts";

/** A connection that takes what it is given when it is told to. */
class Connection extends EventEmitter {
  readonly chunkedEncoding = true;
  readonly headersSent = true;
  destroyed = false;
  hasEnded = false;
  held = 0;
  text = "";
  readonly socket = this;

  get writableNeedDrain(): boolean {
    return this.held > 16_000;
  }

  write(bytes: Buffer): boolean {
    this.held += bytes.length;
    this.text += bytes.toString();
    return !this.writableNeedDrain;
  }

  read(): void {
    const needed = this.writableNeedDrain;
    this.held = 0;
    if (needed) this.emit("drain");
  }

  end(): void {
    this.hasEnded = true;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

function setUp() {
  const connection = new Connection();
  const clock = new ManualClock();
  const response = connection as unknown as ExchangeResponse;
  const backlog = new WatchBacklog(response, { outbox: new WatchOutbox(), clock });
  return { connection, clock, backlog };
}

const chunk = (name: string, size = 10_000) => frame("ADDED", JSON.stringify({ name, rest: "x".repeat(size) }));
const namesIn = (text: string) => [...text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name);

test("a connection that nobody reads is given little", async () => {
  const { connection, backlog } = setUp();
  for (let at = 0; at < 90; at++) backlog.add(chunk(`a${at}`));
  for (let round = 0; round < 50; round++) await turn();
  assert.ok(connection.held < 100_000, String(connection.held));
  assert.equal(connection.destroyed, false);
});

test("whoever reads gets all of it, in order, however much was there before", async () => {
  const { connection, backlog } = setUp();
  const expected: string[] = [];
  for (let at = 0; at < 4_000; at++) {
    expected.push(`a${at}`);
    backlog.addLater(10_000, () => chunk(`a${at}`));
  }
  backlog.add(chunk("last"));
  backlog.end();
  for (let round = 0; round < 3_000 && !connection.hasEnded; round++) {
    await turn();
    assert.ok(connection.held < 200_000);
    connection.read();
  }
  assert.equal(connection.hasEnded, true);
  assert.deepEqual(namesIn(connection.text), [...expected, "last"]);
});

test("what was there before is made when it is read, not sooner", async () => {
  const { backlog } = setUp();
  let count = 0;
  for (let at = 0; at < 1_000; at++) {
    backlog.addLater(10_000, () => {
      count++;
      return chunk("a");
    });
  }
  for (let round = 0; round < 50; round++) await turn();
  assert.ok(count < 20, String(count));
});

test("whoever is far behind and takes nothing for seconds is cut off", async () => {
  const { connection, clock, backlog } = setUp();
  for (let at = 0; at < 200; at++) backlog.add(chunk(`a${at}`));
  for (let round = 0; round < 50; round++) await turn();
  backlog.add(chunk("b"));
  assert.equal(connection.destroyed, false);
  await clock.advance(6_000);
  backlog.add(chunk("c"));
  assert.equal(connection.destroyed, true);
});

test("whoever is much too far behind is cut off at once", () => {
  const { connection, backlog } = setUp();
  for (let at = 0; at < 20; at++) backlog.add(chunk(`a${at}`, 1_000_000));
  assert.equal(connection.destroyed, true);
});

test("an end waits for what is to be sent, but not for ever", async () => {
  const { connection, clock, backlog } = setUp();
  for (let at = 0; at < 50; at++) backlog.add(chunk(`a${at}`));
  for (let round = 0; round < 10; round++) await turn();
  backlog.end();
  assert.equal(connection.hasEnded, false);
  await clock.advance(6_000);
  assert.equal(connection.destroyed, true);
});
