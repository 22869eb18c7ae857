import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger, sleep, systemClock } from "@fjord/base";
import { CriClient } from "./cri-client.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { HeldOutputs } from "./held-outputs.ts";
import { RuntimeService } from "./proto/messages.ts";
import { FakeRuntime, Refusal } from "./testing/fake-runtime.ts";

/** A runtime with pipes for containers where containerd has them. */
async function withPipes(t: TestContext, config?: (directory: string) => string) {
  const directory = await mkdtemp(join(tmpdir(), "fjord-outputs-"));
  const runtime = await FakeRuntime.start();
  runtime.answer(RuntimeService.status, ({ verbose }) => {
    const text = config?.(directory) ?? JSON.stringify({ stateDir: directory });
    return verbose ? { info: { config: text } } : {};
  });
  const client = new CriClient({ socket: runtime.socket, clock: systemClock });
  const outputs = new HeldOutputs({ client, clock: systemClock, log: silentLogger });
  const log = join(directory, "0.log");
  await writeFile(log, "T stdout F before\n");
  t.after(async () => {
    outputs.close();
    client.close();
    await runtime[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });
  const folder = (id: string, time = "1") => join(directory, "containers", id, "io", time);
  const pipe = (id: string, stream: string) => join(folder(id), `${id}-${stream}`);
  const make = (id: string, streams = ["stdout", "stderr"], time = "1") => {
    mkdirSync(folder(id, time), { recursive: true });
    execFileSync("mkfifo", [...streams.map((stream) => join(folder(id, time), `${id}-${stream}`))]);
  };
  const letGo = (id: string) => rmSync(folder(id), { recursive: true });
  const records = async () =>
    (await readFile(log, "utf8"))
      .split("\n")
      .slice(1, -1)
      .map((line) => line.slice(line.indexOf(" ") + 1));
  return { runtime, client, directory, outputs, log, pipe, make, letGo, records };
}

const open = (path: string) => openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
const descriptors = () => readdirSync("/proc/self/fd").length;

function write(path: string, text: string): void {
  const descriptor = open(path);
  writeSync(descriptor, text);
  closeSync(descriptor);
}

test("what the runtime has not read when it lets go comes into the log, as the runtime would write it", async (t) => {
  const { outputs, log, pipe, make, letGo, records } = await withPipes(t);
  make("c");
  await outputs.hold("c");
  write(pipe("c", "stdout"), `one\n\r\n${"x".repeat(20_000)}\r\nlast`);
  write(pipe("c", "stderr"), "two\n");
  letGo("c");
  await Promise.all([outputs.settle("c", log), outputs.settle("c", log)]);
  assert.deepEqual(await records(), [
    "stdout F one",
    "stdout F ",
    `stdout P ${"x".repeat(16_384)}`,
    `stdout F ${"x".repeat(20_000 - 16_384)}`,
    "stdout P last",
    "stderr F two",
  ]);
  assert.equal(outputs.size, 0);
});

test("what still comes after the runtime has let go is waited for, more than a pipe takes", async (t) => {
  const { outputs, log, pipe, make, letGo, records } = await withPipes(t);
  make("c", ["stdout"]);
  await outputs.hold("c");
  const descriptor = open(pipe("c", "stdout"));
  writeSync(descriptor, "x\n".repeat(32_768));
  outputs.gather("c");
  assert.throws(() => writeSync(descriptor, "x\n"), { code: "EAGAIN" }, "as long as it reads, the runtime does");
  letGo("c");
  outputs.gather("c");
  writeSync(descriptor, "y\n".repeat(32_768));
  closeSync(descriptor);
  await outputs.settle("c", log);
  const lines = await records();
  assert.deepEqual(
    [lines.length, lines.lastIndexOf("stdout F x"), lines.indexOf("stdout F y")],
    [65_536, 32_767, 32_768],
  );
});

test("pipes that were made anew are held too, and none remains open", async (t) => {
  const { outputs, make, letGo } = await withPipes(t);
  await outputs.hold("none");
  const before = descriptors();
  for (let i = 0; i < 10; i++) {
    make(`c${i}`);
    await outputs.hold(`c${i}`);
    await outputs.hold(`c${i}`);
  }
  assert.equal(descriptors(), before + 20);
  // They may be about to start.
  outputs.keepOnly(new Set());
  assert.equal(outputs.size, 10);
  for (let i = 0; i < 10; i++) letGo(`c${i}`);
  assert.equal(outputs.isLeft("c0"), true);
  make("c0", ["stdout", "stderr"], "2");
  await outputs.hold("c0");
  assert.equal(outputs.isLeft("c0"), false);
  outputs.keepOnly(new Set(["c1"]));
  assert.deepEqual([outputs.size, descriptors()], [2, before + 6]);
  outputs.close();
  assert.equal(descriptors(), before);
});

test("of a runtime without such pipes nothing is held, and nobody hears of it", async (t) => {
  const { outputs, log, records } = await withPipes(t, () => '[crio]\nroot = "/var"\n');
  await outputs.hold("c");
  outputs.gather("c");
  await outputs.settle("c", log);
  assert.deepEqual([outputs.size, await records()], [0, []]);

  const { runtime, outputs: others, make } = await withPipes(t);
  runtime.answer(RuntimeService.status, () => {
    throw new Refusal(grpcStatus.unimplemented, "no");
  });
  make("c");
  await others.hold("c");
  assert.equal(others.size, 0);
});

/** A process that holds the output of containers as a node does, until it is killed. */
async function holder(socket: string, keptDirectory: string, ids: readonly string[]): Promise<ChildProcess> {
  const program = `
import { silentLogger, systemClock } from "@fjord/base";
import { CriClient } from "./cri-client.ts";
import { HeldOutputs } from "./held-outputs.ts";
const client = new CriClient({ socket: ${JSON.stringify(socket)}, clock: systemClock });
const outputs = new HeldOutputs({ client, clock: systemClock, log: silentLogger, keptDirectory: ${JSON.stringify(keptDirectory)} });
for (const id of ${JSON.stringify(ids)}) await outputs.hold(id);
outputs.keep();
console.log("holds", outputs.size);
setInterval(() => {}, 1000);
`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** What brings the output of a container: it waits for a reader, and its end is the end of the output. */
function bring(path: string, script: string): Promise<unknown> {
  // Open before this returns, and made blocking by the child, as standard output is.
  const descriptor = open(path);
  const child = spawn("/bin/sh", ["-c", script], { stdio: ["ignore", descriptor, "inherit"] });
  closeSync(descriptor);
  return once(child, "exit").then(([code]) => assert.equal(code, 0));
}

/** Writes what a pipe does not take at once as soon as somebody reads. */
async function pour(descriptor: number, text: Buffer): Promise<void> {
  for (let at = 0; at < text.length; ) {
    try {
      at += writeSync(descriptor, text, at);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
      await sleep(systemClock, 5);
    }
  }
  closeSync(descriptor);
}

const numbers = (lines: readonly string[], stream: string) =>
  lines.filter((line) => line.startsWith(stream)).map((line) => Number(line.split(" ")[2]));
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

test("while this process is dead, all that the runtime leaves is read, and comes into the log once and in order", async (t) => {
  const { runtime, client, directory, log, pipe, make, letGo, records } = await withPipes(t);
  const keptDirectory = join(directory, "kept");
  // More pipes than a shell has digits for.
  const ids = ["a", "b", "c", "d", "e", "f"];
  for (const id of ids) make(id);
  const first = await holder(runtime.socket, keptDirectory, ids);
  const brought = [bring(pipe("f", "stdout"), "seq 1 40000"), bring(pipe("f", "stderr"), "seq 1 20000")];
  await kill(first);
  await sleep(systemClock, 500);
  assert.equal(existsSync(join(keptDirectory, "f-stdout")), false, "the runtime may read as long as the pipe is there");
  letGo("f");
  await Promise.all(brought);
  // The next one is killed as well, whatever it has come to.
  await kill(await holder(runtime.socket, keptDirectory, []));
  const late = pour(open(pipe("e", "stdout")), Buffer.from(upTo(30_000).join("\n")));
  letGo("e");
  const next = new HeldOutputs({ client, clock: systemClock, log: silentLogger, keptDirectory });
  assert.equal(next.size, ids.length);
  await next.settle("f", log);
  const lines = await records();
  assert.deepEqual(numbers(lines, "stdout"), upTo(40_000));
  assert.deepEqual(numbers(lines, "stderr"), upTo(20_000));

  await writeFile(log, "T stdout F before\n");
  await Promise.all([next.settle("e", log), late]);
  assert.deepEqual(numbers(await records(), "stdout"), upTo(30_000));
  const keeper = Number(readFileSync(join(keptDirectory, "keeper"), "utf8"));
  next.close();
  assert.deepEqual(readdirSync(keptDirectory), []);
  for (let tries = 600; tries > 0 && existsSync(`/proc/${keeper}`); tries--) await sleep(systemClock, 50);
  assert.equal(existsSync(`/proc/${keeper}`), false, "with one that stops its keeper ends");
});

test("what a runtime that has just come back lets go of is read, though nobody has heard of an end", async (t) => {
  const { outputs, log, pipe, make, letGo, records } = await withPipes(t);
  make("c", ["stdout"]);
  await outputs.hold("c");
  outputs.awaitRuntime();
  // It is listed, and runs.
  outputs.keepOnly(new Set(["c"]));
  const descriptor = open(pipe("c", "stdout"));
  await sleep(systemClock, 500);
  letGo("c");
  await pour(descriptor, Buffer.from(upTo(30_000).join("\n")));
  await outputs.settle("c", log);
  assert.deepEqual(numbers(await records(), "stdout"), upTo(30_000));
});

test("what is kept of containers that are gone is removed", async (t) => {
  const { client, directory } = await withPipes(t);
  const keptDirectory = join(directory, "kept");
  mkdirSync(keptDirectory);
  for (const name of ["a-stdout", "a-records", "b-stderr"]) await writeFile(join(keptDirectory, name), "1\n");
  const outputs = new HeldOutputs({ client, clock: systemClock, log: silentLogger, keptDirectory });
  outputs.keepOnly(new Set(["b"]));
  assert.deepEqual(readdirSync(keptDirectory), ["b-stderr"]);
  outputs.close();
});
