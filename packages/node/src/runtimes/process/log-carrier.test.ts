import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import { LogCarrier } from "./log-carrier.ts";
import { logLines } from "./testing.ts";

describe("a carrier of logs", () => {
  let directory: string;
  let logFile: string;
  const carriers: LogCarrier[] = [];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "fjord-log-"));
    logFile = join(directory, "logs", "0.log");
  });
  afterEach(() => {
    for (const carrier of carriers.splice(0)) carrier.close();
    rmSync(directory, { recursive: true, force: true });
  });

  function open(checkpointBytes?: number): LogCarrier {
    const carrier = new LogCarrier({
      directory,
      logFile,
      ...(checkpointBytes === undefined ? {} : { checkpointBytes }),
      onError: (error) => assert.fail(String(error)),
    });
    carriers.push(carrier);
    return carrier;
  }

  const write = (stream: "stdout" | "stderr", text: string) => appendFileSync(join(directory, `${stream}.raw`), text);

  /** All logs in the order of their writing: rotated ones have names that sort behind. */
  function allLines(): string[] {
    const folder = join(directory, "logs");
    const names = readdirSync(folder).sort((one, other) =>
      one === "0.log" ? 1 : other === "0.log" ? -1 : one < other ? -1 : 1,
    );
    return names.flatMap((name) => logLines(readFileSync(join(folder, name), "utf8")));
  }

  test("carries each line once, though it is killed, cut in the middle of a record, and the log rotated", async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("write" as const), lines: fc.integer({ min: 1, max: 30 }) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("carry" as const) }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant("kill" as const), lost: fc.integer({ min: 0, max: 60 }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("rotate" as const), reopened: fc.boolean() }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        rmSync(directory, { recursive: true, force: true });
        directory = mkdtempSync(join(tmpdir(), "fjord-log-"));
        logFile = join(directory, "logs", "0.log");
        let carrier = open(200);
        let lines = 0;
        let rotations = 0;
        // What was written since the last checkpoint may be cut off; before that the log is never touched.
        for (const each of steps) {
          if (each.kind === "write") {
            for (let count = 0; count < each.lines; count++) write("stdout", `line ${++lines}\n`);
          } else if (each.kind === "carry") await carrier.drain();
          else if (each.kind === "kill") {
            carrier.close();
            cutOff(logFile, each.lost, join(directory, "checkpoint.json"));
            carrier = open(200);
          } else {
            const there = readdirSync(directory).includes("logs");
            if (there && readdirSync(join(directory, "logs")).includes("0.log")) {
              renameSync(logFile, `${logFile}.${String(++rotations).padStart(4, "0")}`);
            }
            if (each.reopened) carrier.reopen();
            else {
              carrier.close();
              carrier = open(200);
            }
          }
        }
        await carrier.drain();
        carrier.close();
        if (lines > 0)
          assert.deepEqual(
            allLines(),
            Array.from({ length: lines }, (_, index) => `stdout line ${index + 1}`),
          );
      }),
      { numRuns: 60 },
    );
  });

  test("gives up what it has carried, and no more", async () => {
    const released: number[] = [];
    const carrier = new LogCarrier({
      directory,
      logFile,
      checkpointBytes: 1000,
      release: (_, end) => released.push(end),
      onError: (error) => assert.fail(String(error)),
    });
    carriers.push(carrier);
    write("stdout", `${"x".repeat(99)}\n`.repeat(12));
    write("stdout", "unfinished");
    carrier.poke();
    while (released.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(released, [1200]);
    await carrier.drain();
    assert.equal(allLines().at(-1), "stdout unfinished");
  });
});

/** As if the last write of a killed process had not come to its end. */
function cutOff(logFile: string, bytes: number, checkpointFile: string): void {
  let size: number;
  try {
    size = readFileSync(logFile).length;
  } catch {
    return;
  }
  let kept = 0;
  try {
    kept = (JSON.parse(readFileSync(checkpointFile, "utf8")) as { offset: number }).offset;
  } catch {
    // No checkpoint yet: all of it may be cut off.
  }
  truncateSync(logFile, Math.max(Math.min(kept, size), size - bytes));
}
