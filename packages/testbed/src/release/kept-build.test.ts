import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { ensureBuilt } from "./kept-build.ts";

let root: string;
let builds: number;

beforeEach(() => {
  builds = 0;
  root = mkdtempSync(join(tmpdir(), "fjord-kept-build-"));
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src/one.ts"), "one");
  written("src/one.ts", 60);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

test("what was built is taken again as long as its sources are what they were", async () => {
  const first = await ensure();
  assert.equal(readFileSync(join(first, "program"), "utf8"), "one");
  assert.equal(await ensure(), first);
  assert.equal(builds, 1);
});

test("a source that changed is built anew, and the build of before goes", async () => {
  const first = await ensure();
  writeFileSync(join(root, "src/one.ts"), "ONE");
  written("src/one.ts", 30);
  const second = await ensure();
  assert.equal(readFileSync(join(second, "program"), "utf8"), "ONE");
  assert.deepEqual(readdirSync(join(root, "kept")), [second.slice(join(root, "kept/").length)]);
  assert.equal(existsSync(first), false);
});

test("a source that is older than the one of before is another source too, and so is none", async () => {
  await ensure();
  written("src/one.ts", 90);
  await ensure();
  assert.equal(builds, 2);
  rmSync(join(root, "src/one.ts"));
  await assert.rejects(ensure(), /ENOENT/);
});

test("a build whose source changed meanwhile is used once, and not kept for the next", async () => {
  const place = await ensure(() => appendFileSync(join(root, "src/one.ts"), " and more"));
  assert.equal(readFileSync(join(place, "program"), "utf8"), "one");
  assert.equal(readFileSync(join(await ensure(), "program"), "utf8"), "one and more");
  assert.equal(builds, 2);
});

test("a build that fails leaves nothing, and what a killed one left is no build", async () => {
  await assert.rejects(
    ensure(() => {
      throw new Error("the disk is full");
    }),
    /the disk is full/,
  );
  assert.deepEqual(readdirSync(join(root, "kept")), []);
  mkdirSync(join(root, "kept/making-1"));
  writeFileSync(join(root, "kept/making-1/sources.json"), "{}");
  assert.equal(readFileSync(join(await ensure(), "program"), "utf8"), "one");
});

function ensure(meanwhile = () => {}): Promise<string> {
  return ensureBuilt({
    root,
    folder: join(root, "kept"),
    build: async (into) => {
      builds += 1;
      const text = readFileSync(join(root, "src/one.ts"), "utf8");
      writeFileSync(join(into, "program"), text);
      meanwhile();
      return ["src/one.ts"];
    },
  });
}

function written(source: string, secondsAgo: number): void {
  const moment = Date.now() / 1000 - secondsAgo;
  utimesSync(join(root, source), moment, moment);
}
