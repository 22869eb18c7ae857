import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { seededRandom } from "@fjord/base";
import { ProcessRuntime, type ProcessRuntimeOptions } from "./process-runtime.ts";
import { scanProcesses } from "./process-table.ts";
import { logLines, removeTestGroups, until } from "./testing.ts";

const LINES = 1000;
const KILLS = Number(process.env.FJORD_KILLS ?? 15);
const seed = Number(process.env.FJORD_SEED ?? Date.now() % 100_000);

const ways: { name: string; options: Partial<ProcessRuntimeOptions> }[] = [
  { name: "as the machine permits", options: {} },
  { name: "without control groups", options: { controlGroups: false } },
  { name: "without namespaces and control groups", options: { mountNamespace: "none", controlGroups: false } },
];

for (const way of ways) {
  describe(`killed at any moment, ${way.name} (FJORD_SEED=${seed})`, () => {
    const stateDirectory = mkdtempSync(join(tmpdir(), "fjord-crash-"));
    after(() => {
      rmSync(stateDirectory, { recursive: true, force: true });
      removeTestGroups();
    });

    test("a node starts nothing twice, leaves nothing behind and loses no line", async () => {
      const random = seededRandom(seed);
      const options = { stateDirectory, ...way.options };
      const file = join(stateDirectory, "pods.txt");
      const pods = () => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
      const isWhole = (uid: string) => existsSync(join(stateDirectory, "pods", uid, "whole"));
      // And on, for longer and longer, until one has come to its end: a slow machine may not have begun any.
      for (let round = 0; round < KILLS || !pods().some(isWhole); round++) {
        const longest = 250 * 2 ** Math.max(0, round - KILLS + 1);
        await hostAndKill({ ...options, lines: LINES, pods: 4 }, random() * longest);
      }

      const runtime = await ProcessRuntime.open(options);
      const uids = pods();
      await assertNoOrphans(runtime, uids);
      await until(async () => {
        const containers = (await runtime.list()).flatMap((sandbox) => sandbox.containers);
        return containers.every((container) => container.state !== "running");
      }, "all to end");
      const codes = new Map((await runtime.list()).map((each) => [each.pod.uid, each.containers[0]?.exitCode]));
      for (const sandbox of await runtime.list()) await runtime.removeSandbox(sandbox.id);
      runtime.close();

      for (const uid of uids) {
        const runs = join(stateDirectory, "pods", uid, "runs");
        if (existsSync(runs)) assert.equal(readFileSync(runs, "utf8").trim().split("\n").length, 1, `${uid} ran twice`);
        const log = join(stateDirectory, "logs", uid, "main", "0.log");
        const lines = existsSync(log) ? logLines(readFileSync(log, "utf8")) : [];
        assert.deepEqual(
          lines,
          Array.from({ length: lines.length }, (_, index) => `stdout ${index + 1}`),
          uid,
        );
        if (isWhole(uid)) assert.equal(lines.length, LINES, `${uid} ended with ${codes.get(uid)}`);
      }
      assert.deepEqual(marked(uids), []);
      assert.deepEqual(readdirSync(join(stateDirectory, "process")), []);
    });
  });
}

async function hostAndKill(options: object, milliseconds: number): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "crash-host.ts"), JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const gone = new Promise<string | null>((resolve) => child.once("exit", (_, signal) => resolve(signal)));
  await Promise.race([new Promise((resolve) => child.stdout.once("data", resolve)), gone]);
  await delay(milliseconds);
  child.kill("SIGKILL");
  assert.equal(await gone, "SIGKILL", "the host ended by itself");
}

async function assertNoOrphans(runtime: ProcessRuntime, uids: readonly string[]): Promise<void> {
  const known = new Set((await runtime.list()).flatMap((sandbox) => sandbox.containers.map(({ id }) => id)));
  const orphans = marked(uids).filter((each) => each.container === undefined || !known.has(each.container));
  assert.deepEqual(orphans, []);
}

function marked(uids: readonly string[]) {
  const all = new Set(uids);
  return scanProcesses().filter((each) => each.pod !== undefined && all.has(each.pod));
}
