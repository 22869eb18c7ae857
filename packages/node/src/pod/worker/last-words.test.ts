import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { RuntimeContainer } from "../../runtime/index.ts";
import { annotations } from "../annotations.ts";
import { endOfLog, lastWords } from "./last-words.ts";

let directory: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "fjord-words-"));
});
after(() => rm(directory, { recursive: true, force: true }));

function ended(exitCode: number): RuntimeContainer {
  return {
    id: "c",
    sandbox: "s",
    name: "web",
    attempt: 0,
    state: "exited",
    createdAt: 0,
    exitCode,
    image: "",
    imageId: "",
    annotations: { [annotations.terminationMessage]: join(directory, "message") },
    logFile: join(directory, "log"),
  };
}

const line = (text: string, tag = "F") => `2030-01-01T00:00:00.000000000Z stdout ${tag} ${text}\n`;

test("the file counts first, then the log of a container that failed and may fall back to it", async () => {
  await writeFile(join(directory, "log"), line("oh no"));
  assert.equal(await lastWords(ended(1), true), "oh no\n");
  assert.equal(await lastWords(ended(1), false), "");
  assert.equal(await lastWords(ended(0), true), "");
  await writeFile(join(directory, "message"), "x".repeat(5000));
  assert.equal((await lastWords(ended(1), true)).length, 4096);
});

test("of a log the last eighty lines count, without their marks, and no more than two kilobytes", () => {
  const lines = Array.from({ length: 100 }, (_, index) => line(`${index}`)).join("");
  const words = endOfLog(lines).split("\n").filter(Boolean);
  assert.equal(words.length, 80);
  assert.equal(words.at(-1), "99");
  assert.equal(endOfLog(line("par", "P") + line("tial")), "partial\n");
  assert.equal(Buffer.byteLength(endOfLog(line("ä".repeat(3000)))) <= 2048, true);
});
