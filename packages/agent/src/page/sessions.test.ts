import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { loginName, loginPath } from "./login-code.ts";
import { Sessions } from "./sessions.ts";

test("a session is found by its id until it is over", async () => {
  const clock = new ManualClock();
  const sessions = new Sessions(clock);
  const session = sessions.begin({ user: "ann", groups: ["shop"] });
  assert.equal(sessions.find(session.id), session);
  assert.equal(sessions.find(undefined), undefined);
  assert.equal(sessions.find("guess"), undefined);
  await clock.advance(8 * 3_600_000 + 1);
  assert.equal(sessions.find(session.id), undefined);
  assert.ok(session.ended.signal.aborted);
});

test("ending a session ends what it has open", () => {
  const sessions = new Sessions(new ManualClock());
  const session = sessions.begin({ user: "ann" });
  sessions.end(session);
  assert.ok(session.ended.signal.aborted);
  assert.equal(sessions.size, 0);
});

test("nobody can fill the memory with sessions", () => {
  const sessions = new Sessions(new ManualClock());
  const first = sessions.begin({ user: "ann" });
  for (let i = 0; i < 1_000; i++) sessions.begin({ user: `user-${i}` });
  assert.equal(sessions.size, 1_000);
  assert.ok(first.ended.signal.aborted);
});

test("nobody logs others out by logging in", () => {
  const sessions = new Sessions(new ManualClock());
  const other = sessions.begin({ user: "bea" });
  const first = sessions.begin({ user: "ann" });
  for (let i = 0; i < 1_000; i++) sessions.begin({ user: "ann" });
  assert.equal(sessions.size, 51);
  assert.deepEqual([first.ended.signal.aborted, other.ended.signal.aborted], [true, false]);
});

test("what a login request is called does not give its code away, and the code is in no address that is sent", () => {
  const code = "c".repeat(43);
  assert.match(loginName(code), /^fjord-page-login-[0-9a-f]{40}$/);
  assert.ok(!loginName(code).includes(code));
  assert.equal(new URL(loginPath(code), "http://127.0.0.1").pathname, "/");
  assert.equal(new URL(loginPath(code), "http://127.0.0.1").search, "");
});
