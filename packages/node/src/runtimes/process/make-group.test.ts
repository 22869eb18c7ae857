import assert from "node:assert/strict";
import { existsSync, type mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { describeError } from "@fjord/base";
import { makeGroup } from "./make-group.ts";

const root = mkdtempSync(join(tmpdir(), "fjord-group-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** As Node and the kernel answer: the one knows of missing folders only, the other says what is wrong. */
function failing(code: string, recursive = "ENOENT"): typeof mkdirSync {
  return ((folder: string, options?: object) => {
    const said = options === undefined ? code : recursive;
    throw Object.assign(new Error(`${said}: mkdir '${folder}'`), { code: said });
  }) as typeof mkdirSync;
}

/** As an Event has it. */
function saidOf(make: typeof mkdirSync): string {
  try {
    makeGroup("/x/pod1/c1", make);
    return "nothing";
  } catch (error) {
    return describeError(error);
  }
}

test("a group is made with those above it, once or twice", () => {
  const folder = join(root, "kubepods/pod1/c1");
  makeGroup(folder);
  makeGroup(folder);
  assert.ok(existsSync(folder));
});

test("a pod without memory for a group has too small a limit", () => {
  const small = "the memory limit is too small: it leaves no room even for the control group of a container";
  assert.equal(saidOf(failing("ENOMEM")), small);
});

test("other failures are told by their code, and never by a group's name: another try is the same failure", () => {
  for (const [make, code] of [
    [failing("EROFS"), "EROFS"],
    [failing("ENOENT", "EACCES"), "EACCES"],
    [failing("ENOENT"), "ENOENT"],
  ] as const)
    assert.equal(saidOf(make), `cannot make a control group for the container (${code})`);
});
