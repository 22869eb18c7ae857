import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, rm, stat, statfs, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { MemoryDirectory } from "./memory-directory.ts";

const TMPFS = 0x01021994;
const sharedMemory = await statfs("/dev/shm").then(
  ({ type }) => type === TMPFS,
  () => false,
);
const skip = sharedMemory ? false : "this machine has no shared memory";

/** A state directory, and a place in the machine's memory. */
async function setUp(t: TestContext) {
  const state = await mkdtemp(join(tmpdir(), "memory-"));
  const shared = await mkdtemp("/dev/shm/memory-");
  t.after(async () => {
    await rm(state, { recursive: true, force: true });
    await rm(shared, { recursive: true, force: true });
  });
  return { state, shared };
}

test("without mounting, the machine's shared memory is used, and given back", { skip }, async (t) => {
  const { state, shared } = await setUp(t);
  const memory = new MemoryDirectory(state, undefined, shared);
  const path = await memory.path();
  assert.ok(path.startsWith(`${shared}/`));
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  assert.equal(await memory.inMemory(), true);
  assert.equal(await new MemoryDirectory(state, undefined, shared).path(), path, "found again after a restart");
  await writeFile(join(path, "file"), "");
  await memory.tidy();
  assert.deepEqual(await readdir(path), ["file"]);
  await rm(path, { recursive: true });
  assert.equal(await memory.path(), path);
  assert.equal((await stat(path)).mode & 0o777, 0o700, "made again after it was cleared");
  await memory.tidy();
  assert.deepEqual(await readdir(shared), []);
});

test("what others have put in its place is not used", { skip }, async (t) => {
  const { state, shared } = await setUp(t);
  const path = await new MemoryDirectory(state, undefined, shared).path();
  const onDisk = join(state, "memory");

  await chmod(path, 0o777);
  assert.equal(await new MemoryDirectory(state, undefined, shared).path(), onDisk);
  await rm(path, { recursive: true });
  await mkdir(join(shared, "trap"), { mode: 0o700 });
  await symlink("trap", path);
  const memory = new MemoryDirectory(state, undefined, shared);
  assert.equal(await memory.path(), onDisk);
  assert.equal((await stat(onDisk)).mode & 0o777, 0o700);
});

test("without memory to be had, the state directory is used", async (t) => {
  const { state } = await setUp(t);
  const memory = new MemoryDirectory(state, undefined, join(state, "none"));
  assert.equal(await memory.path(), join(state, "memory"));
  await memory.tidy();
  assert.ok((await stat(join(state, "memory"))).isDirectory());
});
