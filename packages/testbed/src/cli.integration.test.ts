import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "@fjord/base";
import type { BedStatus } from "./commands/status.ts";
import { markedProcesses } from "./leftovers.ts";
import type { LaneStatus } from "./network/network.ts";
import { ociImage } from "./nodes/oci-image.ts";
import { readState } from "./state.ts";
import { kubernetesSkip, metricsServerSkip, realNodesSkip } from "./testing.ts";
import { waitFor } from "./wait.ts";

const skip = kubernetesSkip();
const cli = fileURLToPath(new URL("cli.ts", import.meta.url));
const soon = { clock: systemClock, timeout: 60_000 };

test("a bed stays after `up`, obeys other commands, and `down` leaves nothing", { skip }, async (t) => {
  // With what Go does by itself: garbage that is collected more seldom, as in other tests, is kept in memory for minutes.
  const { testbed, directory, registry } = await place(t, { GOGC: "" });
  await testbed("up", "--sites", "2");
  const id = readState(directory)?.id ?? "";

  const look = async () => JSON.parse((await testbed("status", "-o", "json")).out) as BedStatus;
  const isSmall = ({ sites }: BedStatus) => sites.every(({ memory }) => memory < 600e6);
  let status = await look();
  assert.equal(status.ready, true);
  // What starting took is given back later, the more so where others have the processors.
  for (const end = systemClock.now() + 150_000; !isSmall(status) && systemClock.now() < end; ) status = await look();
  assert.deepEqual(
    status.sites.map((site) => site.name),
    ["site-1", "site-2"],
  );
  for (const { kubeconfig, memory } of status.sites)
    assert.deepEqual([existsSync(kubeconfig), memory > 100e6, memory < 600e6], [true, true, true], `${memory} bytes`);

  assert.match((await testbed("up", "--sites", "2")).err, /is up already/);
  const other = await testbed("up", "--sites", "3");
  assert.equal(other.code, 1);
  assert.match(other.err, /a test bed of 2 sites of 1.36 runs in .*, not one of 3 sites of 1.36\n.*testbed -- down/);

  const unmeasured = await testbed("up", "--sites", "2", "--metrics-server");
  assert.deepEqual([unmeasured.code, /nothing to measure at sites without real nodes/.test(unmeasured.err)], [1, true]);

  const simulated = await testbed("up", "--sites", "2", "--simulated-nodes", "5");
  assert.equal(simulated.code, 1);
  assert.match(simulated.err, /a test bed of 2 sites of 1.36 runs in .*, not one of .* with 5 simulated nodes each\n/);

  await testbed("pause", "site-2", "etcd");
  const paused = await testbed("up", "--sites", "2");
  assert.equal(paused.code, 1);
  assert.match(paused.err, /^error: site-2\/etcd is paused: `npm run testbed -- resume site-2 etcd`\n/);
  await testbed("resume", "site-2", "etcd");

  await testbed("kill", "site-1", "kube-scheduler");
  const wounded = await testbed("status");
  assert.deepEqual([wounded.code, /site-1 +kube-scheduler +ended/.test(wounded.out)], [1, true]);
  await testbed("restart", "site-1", "kube-scheduler");
  assert.equal((await testbed("status")).code, 0);
  assert.match((await testbed("logs", "site-1", "kube-scheduler", "--tail", "1")).out, /^[A-Z]\d+ .*\n$/);

  const slowed = await testbed("latency", "site-1", "site-2", "20ms", "--one-way");
  assert.deepEqual([slowed.out, slowed.err], ["", "The latency from site-1 to site-2 is 20 ms\n"]);
  await testbed("cut", "site-2", "site-1", "--one-way");
  const address = (await testbed("expose", "site-1", "site-2", "127.0.0.1:9")).out.trim();
  await testbed("kill", "-", "network");
  const again = await testbed("up", "--sites", "2");
  assert.match(again.err, /^Starting network again\nThe test bed is up again\n/);
  const { out: shown } = await testbed("paths");
  assert.ok(/0 B/.test(shown) && new RegExp(`site-2 +${address} +127.0.0.1:9\n`).test(shown), shown);
  await testbed("unexpose", "site-1", "site-2", "127.0.0.1:9");
  const lanes = JSON.parse((await testbed("paths", "-o", "json")).out) as LaneStatus[];
  assert.deepEqual(
    lanes.map(({ exposed }) => exposed.length),
    [1, 1],
  );
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
    [
      1,
      "error: the test bed has no path from site-1 to site-9; its sites are site-1, site-2\n" +
        "Name two different sites that `npm run testbed -- status` lists. [TESTBED_NO_SUCH_PATH]\n",
    ],
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
  // Its processes go on, and write there.
  await rm(directory, { recursive: true, maxRetries: 20, retryDelay: 50 });
  assert.equal((await testbed("down")).code, 0);
  assert.deepEqual([markedProcesses(id), readdirSync(registry)], [[], []]);
});

test("`up` says that `down` removed the bed while it started", { skip }, async (t) => {
  const { start, testbed, directory, registry } = await place(t);
  const up = start("up", "--sites", "1");
  const id = await begun(directory);
  assert.equal((await testbed("down")).code, 0);
  const { code, err } = await up.ended;
  assert.equal(code, 1);
  assert.match(err, /\nerror: the test bed in .* was removed by another command while it started\nRun `npm run/);
  assert.deepEqual([markedProcesses(id), existsSync(directory), readdirSync(registry)], [[], false, []]);
});

test("a bed starts whether or not anybody reads what is said meanwhile", { skip }, async (t) => {
  const { start, testbed } = await place(t);
  const up = start("up", "--sites", "1");
  up.child.stderr?.destroy();
  const [code] = await once(up.child, "exit");
  assert.deepEqual([code, (await testbed("status")).code], [0, 0]);
});

test("a site with a real node is restarted, and its node takes images", {
  skip: skip || realNodesSkip(),
}, async (t) => {
  const { testbed, directory } = await place(t);
  assert.equal((await testbed("up", "--nodes", "1")).code, 0);
  const restarted = await testbed("restart", "site-1");
  assert.deepEqual([restarted.code, (await testbed("status")).code], [0, 0], restarted.err);
  await testbed("kill", "site-1", "node-1-namespaces");
  const again = await testbed("up", "--nodes", "1");
  assert.match(again.err, /^Starting site-1\/node-1-namespaces again\n(.*\n){3}The test bed is up again\n/);
  assert.equal((await testbed("status")).code, 0);
  const archive = join(directory, "image.tar");
  const layers = [[{ path: "file", content: Buffer.from("x") }]];
  await writeFile(archive, ociImage({ names: ["docker.io/shop/web:1"], layers }).archive);
  const loaded = await testbed("load-image", archive);
  assert.deepEqual([loaded.code, loaded.err], [0, "Loaded docker.io/shop/web:1 on site-1-node-1\n"]);

  await t.test("and gets metrics-server when it is asked for", { skip: metricsServerSkip() }, async () => {
    const measured = await testbed("up", "--nodes", "1", "--metrics-server");
    assert.equal(measured.code, 0, measured.err);
    assert.match(measured.err, /Starting metrics-server for 1 site\n/);
    assert.match((await testbed("status")).out, /site-1 +metrics-server +running/);
    const twice = await testbed("up", "--nodes", "1", "--metrics-server");
    assert.deepEqual([twice.code, /Starting/.test(twice.err)], [0, false], twice.err);
  });
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

async function place(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const base = await mkdtemp(join(tmpdir(), "fjord-cli-"));
  const directory = join(base, "bed");
  const start = (...args: string[]): { child: ChildProcess; ended: Promise<Ended> } => {
    const child = spawn(process.execPath, [cli, "--directory", directory, ...args], {
      // The registry of beds is in the temporary directory: this one is the test's own.
      env: { ...process.env, TMPDIR: base, NO_COLOR: "1", ...environment },
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

function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = "";
  stream.on("data", (chunk: Buffer) => {
    all += chunk;
  });
  return new Promise((resolve) => stream.once("close", () => resolve(all)));
}
