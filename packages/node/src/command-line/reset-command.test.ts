import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { silentLogger, sleep, systemClock } from "@fjord/base";
import { ProcessRuntime } from "../runtimes/process/index.ts";
import { containerConfig, sandboxConfig } from "../runtimes/process/testing.ts";
import { NodeStore } from "../store/index.ts";

const root = mkdtempSync(join(tmpdir(), "fjord-reset-"));
after(() => rmSync(root, { recursive: true }));
const cli = fileURLToPath(new URL("../cli.ts", import.meta.url));

async function reset(directory: string, ...more: string[]): Promise<{ code: number; words: string; output: string }> {
  const child = spawn(process.execPath, [cli, "reset", "--state-dir", directory, ...more], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [words, output, [code]] = await Promise.all([text(child.stderr), text(child.stdout), once(child, "exit")]);
  return { code: Number(code), words, output };
}

const openStore = (directory: string) =>
  NodeStore.open({ file: join(directory, "node.db"), clock: systemClock, logger: silentLogger });

test("a directory that no node has made is left as it is, and one that is not there is no error", async () => {
  const directory = join(root, "precious");
  mkdirSync(directory);
  writeFileSync(join(directory, "file"), "kept");
  const { code, words } = await reset(directory);
  assert.equal(code, 1);
  assert.match(words, /was not made by a node/);
  assert.ok(existsSync(join(directory, "file")));
  assert.equal((await reset(join(root, "nowhere"))).code, 0);
});

test("a node that was stopped goes with its processes; one that runs is not touched", async (context) => {
  const directory = join(root, "state");
  mkdirSync(directory);
  const store = await openStore(directory);
  const runtime = await ProcessRuntime.open({ stateDirectory: directory });
  const pod = sandboxConfig(directory);
  mkdirSync(pod.podDirectory, { recursive: true });
  const sandbox = await runtime.runSandbox(pod);
  const mark = `98${Date.now() % 1_000_000}`;
  const command = ["sleep", mark];
  context.after(() => {
    for (const pid of sleeping(mark)) process.kill(Number(pid), "SIGKILL");
  });
  await runtime.startContainer(await runtime.createContainer(sandbox, containerConfig(command), pod));
  const isRunning = async () =>
    (await runtime.list()).some(({ containers }) => containers.some(({ state }) => state === "running"));
  assert.ok(await isRunning());
  // It runs from the moment on at which its keeper does; the program itself follows.
  while (sleeping(mark).length === 0) await sleep(systemClock, 10);
  const refused = await reset(directory);
  assert.equal(refused.code, 1);
  assert.match(refused.words, /another process uses the node's store/);
  assert.ok(await isRunning());
  runtime.close();
  store[Symbol.dispose]();
  const pods = [{ namespace: pod.pod.namespace, name: pod.pod.name, uid: pod.pod.uid }];
  const tried = await reset(directory, "--dry-run", "-o", "json");
  assert.deepEqual(JSON.parse(tried.output), { directory, dryRun: true, pods });
  assert.equal(sleeping(mark).length, 1, "nothing was ended");
  const done = await reset(directory, "-o", "json");
  assert.equal(done.code, 0);
  assert.deepEqual(JSON.parse(done.output), { directory, dryRun: false, pods });
  assert.ok(!existsSync(directory));
  assert.deepEqual(sleeping(mark), []);
});

/** Pids of `sleep MARK`. */
function sleeping(mark: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8") === `sleep\0${mark}\0`;
    } catch {
      return false;
    }
  });
}
