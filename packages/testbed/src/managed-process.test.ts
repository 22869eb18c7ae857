import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "@fjord/base";
import { ManagedProcess } from "./managed-process.ts";
import { identify, isAlive, sendSignal } from "./process-identity.ts";
import type { ProcessRecord } from "./process-record.ts";
import { waitFor } from "./wait.ts";

const soon = { clock: systemClock, timeout: 60_000, interval: 10 };

test("a process is started, paused, resumed, killed and started again, and its record follows", async (t) => {
  const { process, changes } = await managed(t, "sleep", ["1000"]);
  await process.start();
  const first = process.pid;
  assert.ok(first !== undefined && process.running && process.memory > 0);
  await process.start();
  assert.equal(process.pid, first, "starting what runs changes nothing");
  await process.pause();
  assert.equal(process.paused, true);
  await process.resume();
  assert.ok(await waitFor(() => !process.paused, soon));
  await process.kill();
  assert.equal(process.running, false);
  await process.restart();
  assert.notEqual(process.pid, first);
  assert.deepEqual(
    changes.map((record) => record.identity?.pid),
    [first, undefined, undefined, process.pid],
  );
});

test("stopping asks first: a paused process hears it, a deaf one is killed", async (t) => {
  const polite = await managed(t, "sh", ["-c", "trap 'echo asked; exit' TERM; echo up; while :; do sleep 0.01; done"]);
  await polite.process.start();
  await waitFor(() => polite.process.logTail() === "up", soon);
  await polite.process.pause();
  await polite.process.stop();
  assert.equal(await readFile(polite.process.record.log, "utf8"), "up\nasked\n");
  const deaf = await managed(t, "sh", ["-c", "trap '' TERM; echo up; while :; do sleep 0.01; done"]);
  await deaf.process.start();
  await waitFor(() => deaf.process.logTail() === "up", soon);
  await deaf.process.stop(50);
  assert.equal(deaf.process.running, false);
});

test("another process that got the pid of one that ended is never signalled", async (t) => {
  const { process } = await managed(t, "sleep", ["1000"]);
  await process.start();
  const identity = identify(process.pid as number);
  assert.ok(identity !== undefined);
  const recycled = { ...identity, started: `${identity.started}0` };
  assert.equal(isAlive(recycled), false);
  assert.equal(sendSignal(recycled, "SIGKILL"), false);
  assert.equal(process.running, true);
});

test("a program that is not there is named", async (t) => {
  const { process } = await managed(t, "/nowhere/etcd", []);
  await assert.rejects(process.start(), /cannot start it of site-1 from \/nowhere\/etcd: .*ENOENT/);
});

async function managed(t: TestContext, file: string, args: string[]) {
  const directory = await mkdtemp(join(tmpdir(), "fjord-process-"));
  const changes: ProcessRecord[] = [];
  const process = new ManagedProcess(
    { name: "it", site: "site-1", file, args, log: join(directory, "log") },
    { changed: (record) => changes.push(record), environment: { PATH: "/usr/bin:/bin" } },
  );
  t.after(async () => {
    await process.kill();
    await rm(directory, { recursive: true });
  });
  return { process, changes };
}
