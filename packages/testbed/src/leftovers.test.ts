import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { bedEnvironment, markedProcesses, reapLeftovers, removeBed, removeIfEmpty } from "./leftovers.ts";
import { identify } from "./process-identity.ts";
import { Registry } from "./registry.ts";
import { StateFile } from "./state.ts";
import { waitFor } from "./wait.ts";

test("a bed whose owner has ended is reaped: processes that nobody recorded, children, files", async (t) => {
  const { registry, directory } = await place(t);
  const owner = spawn("sleep", ["1000"]);
  await once(owner, "spawn");
  const identity = identify(owner.pid as number);
  assert.ok(identity !== undefined);
  registry.put({ id: "x1", directory, owner: identity });
  makeState(registry, "x1", directory);
  const child = spawn("sh", ["-c", "sleep 1000 & wait"], { env: bedEnvironment("x1"), stdio: "ignore" });
  await once(child, "spawn");
  assert.ok(await waitFor(() => markedProcesses("x1").length === 2, { clock: systemClock, timeout: 5_000 }));

  assert.deepEqual(await reapLeftovers({ registry, log: silentLogger }), [], "its owner lives");
  owner.kill("SIGKILL");
  await once(owner, "exit");
  const reaped = await reapLeftovers({ registry, log: silentLogger });
  assert.deepEqual(
    reaped.map(({ id }) => id),
    ["x1"],
  );
  assert.deepEqual(markedProcesses("x1"), []);
  assert.deepEqual([existsSync(directory), registry.list().length], [false, 0]);
});

test("whoever starts a bed can see who removes it", async (t) => {
  const { registry, directory, base } = await place(t);
  const group = join(base, "group");
  mkdirSync(group);
  await writeFile(join(group, "file"), "");
  const owner = identify(process.pid);
  assert.ok(owner !== undefined);
  registry.put({ id: "x4", directory, owner });
  makeState(registry, "x4", directory).addResource({ kind: "cgroup", id: group });
  await assert.rejects(removeBed({ id: "x4", directory }, { registry, log: silentLogger }));
  assert.deepEqual(registry.find("x4"), { id: "x4", directory, owner, remover: owner });
});

test("only a directory with nothing in it is removed for being empty", async (t) => {
  const { base } = await place(t);
  mkdirSync(join(base, "parent", "child"), { recursive: true });
  removeIfEmpty(join(base, "parent"));
  assert.equal(existsSync(join(base, "parent", "child")), true);
  for (const path of ["parent/child", "parent", "parent"]) removeIfEmpty(join(base, path));
  assert.equal(existsSync(join(base, "parent")), false);
});

test("removing a bed spares a directory in which another one was started since", async (t) => {
  const { registry, directory } = await place(t);
  registry.put({ id: "old", directory });
  makeState(registry, "new", directory);
  await removeBed({ id: "old", directory }, { registry, log: silentLogger });
  assert.equal(existsSync(join(directory, "bed.json")), true);
});

test("what cannot be removed is named, and stays on record until it can be", async (t) => {
  const { registry, directory, base } = await place(t);
  const group = join(base, "group");
  mkdirSync(join(group, "child"), { recursive: true });
  await writeFile(join(group, "child", "file"), "");
  registry.put({ id: "x3", directory });
  makeState(registry, "x3", directory).addResource({ kind: "cgroup", id: group });
  const remove = () => removeBed({ id: "x3", directory }, { registry, log: silentLogger });
  await assert.rejects(remove(), { code: "TESTBED_NOT_REMOVED", message: /cgroup .*group/ });
  assert.deepEqual([existsSync(directory), registry.list().length], [true, 1]);
  await rm(join(group, "child", "file"));
  await remove();
  assert.deepEqual([existsSync(directory), existsSync(group), registry.list().length], [false, false, 0]);
});

test("resources outside the run directory go too, and a missing one is no obstacle", async (t) => {
  const { registry, directory, base } = await place(t);
  const outside = join(base, "outside");
  mkdirSync(outside);
  await writeFile(join(outside, "file"), "");
  const state = makeState(registry, "x2", directory);
  state.addResource({ kind: "directory", id: outside });
  state.addResource({ kind: "netns", id: "fjord-never-made" });
  state.addResource({ kind: "link", id: "fj-never-made" });
  state.addResource({ kind: "cgroup", id: join(base, "no-such-cgroup") });
  await removeBed({ id: "x2", directory }, { registry, log: silentLogger });
  assert.deepEqual([existsSync(outside), existsSync(directory)], [false, false]);
});

test("a registry that others could write to is refused", async (t) => {
  const { base } = await place(t);
  const open = join(base, "open");
  mkdirSync(open);
  chmodSync(open, 0o777);
  assert.throws(() => new Registry(open), /open to other users/);
  const link = join(base, "link");
  symlinkSync(base, link);
  assert.throws(() => new Registry(link), /not a directory/);
});

async function place(t: TestContext) {
  const base = await mkdtemp(join(tmpdir(), "fjord-leftovers-"));
  t.after(() => rm(base, { recursive: true, force: true }));
  const directory = join(base, "run");
  mkdirSync(directory);
  return { base, directory, registry: new Registry(join(base, "registry")) };
}

function makeState(registry: Registry, id: string, directory: string): StateFile {
  const runtimeDirectory = registry.runtimeDirectory(id);
  const startedAt = new Date(0).toISOString();
  return new StateFile({
    version: 1,
    id,
    directory,
    runtimeDirectory,
    startedAt,
    ready: true,
    sites: [],
    processes: [],
    resources: [],
  });
}
