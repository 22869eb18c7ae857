import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkLog, readTail } from "./given-log.ts";

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "fjord-log-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("a pipe without a writer, a device and a directory are no logs", () =>
  inFolder(async (folder) => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const read of [checkLog, readTail]) {
      await assert.rejects(read(pipe), { code: "CLI_LOG_UNREADABLE", message: /a pipe or a device/ });
      await assert.rejects(read("/dev/full"), { code: "CLI_LOG_UNREADABLE", message: /a pipe or a device/ });
      await assert.rejects(read(folder), { code: "CLI_LOG_UNREADABLE", message: /it is a directory/ });
      await assert.rejects(read(join(folder, "none")), { code: "CLI_LOG_UNREADABLE", message: /ENOENT/ });
    }
  }));

test("of a log the end is read, from the beginning of a line", () =>
  inFolder(async (folder) => {
    const log = join(folder, "agent.log");
    await writeFile(log, "password=one\ntwo\nthree\n");
    await checkLog(log);
    assert.deepEqual(await readTail(log), { text: "password=one\ntwo\nthree\n", left: 0 });
    assert.deepEqual(await readTail(log, 13), { text: "two\nthree\n", left: 10 });
  }));

test("a log of 3 GB takes no more memory than its end", () =>
  inFolder(async (folder) => {
    const log = join(folder, "agent.log");
    await writeFile(log, "");
    await truncate(log, 3 * 1024 ** 3);
    const { text, left } = await readTail(log, 1024);
    assert.deepEqual([text.length, left], [1024, 3 * 1024 ** 3 - 1024]);
  }));

test("reading ends where it is interrupted", () =>
  inFolder(async (folder) => {
    const log = join(folder, "agent.log");
    await writeFile(log, "all is well\n");
    await assert.rejects(readTail(log, 1024, AbortSignal.abort(new Error("interrupted"))), /^Error: interrupted$/);
  }));
