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
  assert.ok(await waitFor(() => markedProcesses("x1").length === 2, { clock: systemClock, timeout: 60_000 }));

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
  const group = join(base, "fjx4");
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
  const group = join(base, "fjx3");
  mkdirSync(join(group, "child"), { recursive: true });
  await writeFile(join(group, "child", "file"), "");
  registry.put({ id: "x3", directory });
  makeState(registry, "x3", directory).addResource({ kind: "cgroup", id: group });
  const remove = () => removeBed({ id: "x3", directory }, { registry, log: silentLogger });
  await assert.rejects(remove(), { code: "TESTBED_NOT_REMOVED", message: /cgroup .*fjx3/ });
  assert.deepEqual([existsSync(directory), registry.list().length], [true, 1]);
  await rm(join(group, "child", "file"));
  await remove();
  assert.deepEqual([existsSync(directory), existsSync(group), registry.list().length], [false, false, 0]);
});

test("resources outside the run directory go too, and a missing one is no obstacle", async (t) => {
  const { registry, directory, base } = await place(t);
  const outside = join(base, "fjx2");
  mkdirSync(outside);
  const state = makeState(registry, "x2", directory);
  state.addResource({ kind: "cgroup", id: outside });
  state.addResource({ kind: "link", id: "fjx2-no" });
  state.addResource({ kind: "cgroup", id: join(base, "fjx2-no") });
  await removeBed({ id: "x2", directory }, { registry, log: silentLogger });
  assert.deepEqual([existsSync(outside), existsSync(directory)], [false, false]);
});

test("what was deleted or spoilt by hand is known from the registry", async (t) => {
  for (const spoil of [
    (directory: string) => rm(directory, { recursive: true }),
    (directory: string) => writeFile(join(directory, "bed.json"), "{"),
  ]) {
    const { registry, directory, base } = await place(t);
    const group = join(base, "fjx5");
    mkdirSync(group);
    registry.put({ id: "x5", directory });
    makeState(registry, "x5", directory).addResource({ kind: "cgroup", id: group });
    await spoil(directory);
    await removeBed({ id: "x5", directory }, { registry, log: silentLogger });
    assert.deepEqual([existsSync(directory), existsSync(group), registry.list().length], [false, false, 0]);
  }
});

test("nothing is removed that does not bear the bed's name, nor files that took its place", async (t) => {
  const { registry, directory, base } = await place(t);
  const foreign = join(base, "precious");
  mkdirSync(foreign);
  makeState(registry, "x6", directory).addResource({ kind: "cgroup", id: foreign });
  await assert.rejects(removeBed({ id: "x6", directory }, { registry, log: silentLogger }), /not of this bed/);
  assert.equal(existsSync(foreign), true);
  makeState(registry, "x7", join(base, "registry"));
  await rm(join(base, "registry", "bed.json"));
  await writeFile(join(base, "registry", "mine.txt"), "");
  await removeBed({ id: "x7", directory: join(base, "registry") }, { registry, log: silentLogger });
  assert.equal(existsSync(join(base, "registry", "mine.txt")), true);
});

test("of two beds that are started in one directory at once, one is refused", async (t) => {
  const { registry, directory } = await place(t);
  makeState(registry, "x8", directory);
  assert.throws(() => makeState(registry, "x9", directory), { code: "TESTBED_DIRECTORY_IN_USE" });
});

test("a registration beyond reading blocks nothing, and can be removed", async (t) => {
  const { registry, base } = await place(t);
  await writeFile(join(base, "registry", "spoilt.json"), "null");
  assert.deepEqual(registry.leftovers(), []);
  const [bed] = registry.list();
  assert.equal(bed?.id, "spoilt");
  await removeBed(bed, { registry, log: silentLogger });
  assert.deepEqual(registry.list(), []);
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
  mkdirSync(runtimeDirectory, { recursive: true });
  return StateFile.create({
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
