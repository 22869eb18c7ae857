import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { temporaryDirectory } from "./fake-programs.ts";
import { withLock } from "./lock.ts";

const signal = new AbortController().signal;

test("one works at a time, and nothing is left behind", async (t) => {
  const directory = temporaryDirectory(t);
  const lock = join(directory, "x.lock");
  let inside = 0;
  const work = async () => {
    assert.equal(++inside, 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside--;
  };
  await Promise.all([1, 2, 3].map(() => withLock(lock, { clock: systemClock, signal }, work)));
  assert.deepEqual(readdirSync(directory), []);
});

test("the lock is given back when the work fails", async (t) => {
  const lock = join(temporaryDirectory(t), "x.lock");
  const failing = withLock(lock, { clock: systemClock, signal }, () => Promise.reject(new Error("no luck")));
  await assert.rejects(failing, /no luck/);
  assert.ok(!existsSync(lock));
});

test("who waits is told for whom, and can give up", async (t) => {
  const lock = join(temporaryDirectory(t), "x.lock");
  await withLock(lock, { clock: systemClock, signal }, async () => {
    const controller = new AbortController();
    const onWait = (pid: number) => {
      assert.equal(pid, process.pid);
      controller.abort(new Error("tired of waiting"));
    };
    const second = withLock(lock, { clock: systemClock, signal: controller.signal, onWait }, async () => assert.fail());
    await assert.rejects(second, /tired of waiting/);
  });
});

test("the lock of a process that died is taken over by exactly one of those who wait", async (t) => {
  const lock = join(temporaryDirectory(t), "x.lock");
  writeFileSync(lock, JSON.stringify({ pid: await deadPid(), host: hostname(), token: "gone" }));
  let inside = 0;
  const work = async () => {
    assert.equal(++inside, 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside--;
  };
  await Promise.all([1, 2, 3].map(() => withLock(lock, { clock: systemClock, signal }, work)));
});

test("a lock with no sense in it is nobody's", async (t) => {
  const lock = join(temporaryDirectory(t), "x.lock");
  writeFileSync(lock, "");
  assert.equal(await withLock(lock, { clock: systemClock, signal }, async () => "done"), "done");
});

test("a holder on another machine keeps the lock while it shows signs of life, and no longer", async (t) => {
  const lock = join(temporaryDirectory(t), "x.lock");
  const clock = new ManualClock(Date.now());
  writeFileSync(lock, JSON.stringify({ pid: 1, host: "elsewhere", token: "theirs" }));
  let got = false;
  const second = withLock(lock, { clock, signal }, async () => {
    got = true;
  });
  await clock.advance(100_000);
  assert.ok(!got);
  await clock.advance(30_000);
  await second;
  assert.ok(got);
});

test("who holds the lock shows signs of life", async (t) => {
  const lock = join(temporaryDirectory(t), "x.lock");
  const clock = new ManualClock(Date.now());
  let other = false;
  const done = Promise.withResolvers<void>();
  const first = withLock(lock, { clock, signal }, () => done.promise);
  const theirs = { ...JSON.parse(readFileSync(lock, "utf8")), host: "elsewhere" };
  writeFileSync(lock, JSON.stringify(theirs));
  const second = withLock(lock, { clock, signal }, async () => {
    other = true;
  });
  await clock.advance(600_000);
  assert.ok(!other);
  done.resolve();
  await first;
  await clock.advance(1_000);
  await second;
  assert.ok(other);
});

function deadPid(): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn("true");
    child.on("exit", () => resolve(child.pid ?? 0));
  });
}
