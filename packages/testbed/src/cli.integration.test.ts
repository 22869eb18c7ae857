import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "@fjord/base";
import type { BedStatus } from "./commands/status.ts";
import { markedProcesses } from "./leftovers.ts";
import type { LaneStatus } from "./network/network.ts";
import { readState } from "./state.ts";
import { kubernetesSkip } from "./testing.ts";
import { waitFor } from "./wait.ts";

const skip = kubernetesSkip();
const cli = fileURLToPath(new URL("cli.ts", import.meta.url));
const soon = { clock: systemClock, timeout: 60_000 };

test("a bed stays after `up`, obeys other commands, and `down` leaves nothing", { skip }, async (t) => {
  const { testbed, directory, registry } = await place(t);
  await testbed("up", "--sites", "2");
  const id = readState(directory)?.id ?? "";

  const status = JSON.parse((await testbed("status", "-o", "json")).out) as BedStatus;
  assert.equal(status.ready, true);
  assert.deepEqual(
    status.sites.map((site) => site.name),
    ["site-1", "site-2"],
  );
  for (const site of status.sites) assert.ok(existsSync(site.kubeconfig) && site.memory > 100e6 && site.memory < 600e6);

  assert.match((await testbed("up", "--sites", "2")).err, /is up already/);
  const other = await testbed("up", "--sites", "3");
  assert.equal(other.code, 1);
  assert.match(other.err, /a test bed of 2 sites of 1.36 runs in .*, not one of 3 sites of 1.36\n.*testbed -- down/);

  await testbed("kill", "site-1", "kube-scheduler");
  const wounded = await testbed("status");
  assert.deepEqual([wounded.code, /site-1 +kube-scheduler +ended/.test(wounded.out)], [1, true]);
  await testbed("restart", "site-1", "kube-scheduler");
  assert.equal((await testbed("status")).code, 0);
  assert.match((await testbed("logs", "site-1", "kube-scheduler", "--tail", "1")).out, /^[A-Z]\d+ .*\n$/);

  await testbed("latency", "site-1", "site-2", "20ms", "--one-way");
  await testbed("cut", "site-2", "site-1", "--one-way");
  const lanes = JSON.parse((await testbed("paths", "-o", "json")).out) as LaneStatus[];
  assert.deepEqual(
    lanes.map(({ from, latency, state }) => [from, latency, state]),
    [
      ["site-1", 20, "open"],
      ["site-2", 0, "cut"],
    ],
  );
  const wrong = await testbed("cut", "site-1", "site-9");
  assert.deepEqual(
    [wrong.code, wrong.err],
    [1, "error: the test bed has no path from site-1 to site-9; its sites are site-1, site-2\n"],
  );

  assert.equal((await testbed("down")).code, 0);
  assert.deepEqual(markedProcesses(id), []);
  assert.deepEqual([existsSync(directory), readdirSync(registry)], [false, []]);
  assert.match((await testbed("down")).err, /nothing to do/);
  assert.match((await testbed("status")).err, /^error: there is no test bed in .*\nStart one with/);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test(`${signal} in the middle of \`up\` leaves nothing`, { skip }, async (t) => {
    const { start, directory, registry } = await place(t);
    const up = start("up", "--sites", "1");
    const id = await begun(directory);
    up.child.kill(signal);
    const { code, err } = await up.ended;
    assert.deepEqual([code, markedProcesses(id)], [signal === "SIGINT" ? 130 : 143, []]);
    assert.match(err, /removed what was begun .*\nInterrupted\n$/);
    assert.deepEqual([existsSync(directory), readdirSync(registry)], [false, []]);
  });
}

test("what a killed `up` leaves is cleaned by `down`, even after its directory was deleted", { skip }, async (t) => {
  const { start, testbed, directory, registry } = await place(t);
  const up = start("up", "--sites", "1");
  const id = await begun(directory);
  up.child.kill("SIGKILL");
  await up.ended;
  assert.ok(markedProcesses(id).length > 0);
  await rm(directory, { recursive: true });
  assert.equal((await testbed("down")).code, 0);
  assert.deepEqual([markedProcesses(id), readdirSync(registry)], [[], []]);
});

/** The id of a bed, once a process of it runs. */
async function begun(directory: string): Promise<string> {
  const id = await waitFor(() => {
    const state = existsSync(join(directory, "bed.json")) ? readState(directory) : undefined;
    return state?.processes.some(({ identity }) => identity !== undefined) && state.id;
  }, soon);
  return id ?? assert.fail("no process was started");
}

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

async function place(t: TestContext) {
  const base = await mkdtemp(join(tmpdir(), "fjord-cli-"));
  const directory = join(base, "bed");
  const start = (...args: string[]): { child: ChildProcess; ended: Promise<Ended> } => {
    const child = spawn(process.execPath, [cli, "--directory", directory, ...args], {
      // The registry of beds is in the temporary directory: this one is the test's own.
      env: { ...process.env, TMPDIR: base, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, err] = [text(child.stdout), text(child.stderr)];
    const ended = once(child, "exit").then(async ([code]) => ({ code, out: await out, err: await err }));
    return { child, ended };
  };
  const testbed = (...args: string[]) => start(...args).ended;
  t.after(async () => {
    await testbed("down");
    await rm(base, { recursive: true, force: true });
  });
  return { start, testbed, directory, registry: join(base, `fjord-testbed-${process.getuid?.()}`) };
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = "";
  for await (const chunk of stream) all += chunk;
  return all;
}
