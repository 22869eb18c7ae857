import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { type Session, Sessions } from "./sessions.ts";
import { Streams } from "./streams.ts";

const ann = { user: "ann" };

test("a session is looked at again and again while something of it is open", async () => {
  const clock = new ManualClock();
  const session = new Sessions(clock).begin(ann, "token");
  const checked: Session[] = [];
  const release = new Streams(clock, 60_000, async (each) => void checked.push(each)).open(session);
  await clock.advance(60_000);
  await clock.advance(60_000);
  assert.deepEqual(checked, [session, session]);
  release?.();
  assert.equal(clock.pending, 0);
});

test("nobody takes more streams than anybody looks at, and nobody loses theirs by others", () => {
  const clock = new ManualClock();
  const sessions = new Sessions(clock);
  const streams = new Streams(clock, 60_000, async () => {});
  const taken = Array.from({ length: 40 }, () => streams.open(sessions.begin(ann)));
  assert.equal(taken.filter((each) => each !== undefined).length, 32);
  assert.notEqual(streams.open(sessions.begin({ user: "bea" })), undefined);
  taken[0]?.();
  assert.notEqual(streams.open(sessions.begin(ann)), undefined);
});
