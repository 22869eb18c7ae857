import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "@fjord/base";
import { markedProcesses } from "../leftovers.ts";
import { Registry } from "../registry.ts";
import { kubernetesSkip } from "../testing.ts";
import { waitFor } from "../wait.ts";
import { startTestDemo } from "./test-demo.ts";

const run = promisify(execFile);

test("the demo shows a Deployment over two sites, can be played with, and leaves nothing", {
  // Two whole clusters: docs/demo.md says how to run it.
  skip: process.env.FJORD_DEMO_KUBERNETES === undefined ? "FJORD_DEMO_KUBERNETES is not set" : kubernetesSkip(),
  timeout: 180_000,
}, async (t) => {
  const parent = await mkdtemp(join(tmpdir(), "fjord-demo-"));
  t.after(() => rm(parent, { recursive: true, force: true }));
  const directory = join(parent, "demo");
  const demo = (...flags: string[]) =>
    startTestDemo("--kubernetes", "--simulated", `--directory=${directory}`, ...flags);
  const idOf = () => new Registry().list().find((bed) => bed.directory === directory)?.id;

  const crashed = demo();
  await crashed.says(/Starting|an agent in each/);
  const leftover = idOf() ?? "";
  crashed.child.kill("SIGKILL");
  await once(crashed.child, "exit");

  const first = demo();
  t.after(() => first.child.kill("SIGKILL"));
  await first.says(/Here until Ctrl-C/);
  const id = idOf() ?? "";
  assert.notEqual(id, leftover);
  assert.deepEqual(markedProcesses(leftover), []);
  const shown = first.output();
  assert.match(shown, /with a simulated node each/);
  assert.match(shown, /No container runs \(you asked for simulated nodes\): pods are played, without logs\./);
  const placed = [...shown.matchAll(/hello-\S+ +Running +(\S+)/g)].map(([, node]) => node);
  assert.equal(placed.length, 4);
  assert.equal(placed.filter((node) => node === "lively-wave").length, 2);

  const shell = (script: string) => run("/bin/sh", ["-c", `. ${directory}/env && ${script}`]);
  assert.match((await shell("fjord sites")).stdout, /^lively-wave +Peer +.*True +Reachable/m);
  assert.match((await shell("kubectl get nodes")).stdout, /^lively-wave +Ready/m);
  await shell("fjord drain lively-wave");
  await shell("kubectl -n hello rollout status deployment/hello --timeout=30s");
  const home = "kubectl -n hello get pods -o jsonpath='{.items[*].spec.nodeName}'";
  const drained = await waitFor(async () => !(await shell(home)).stdout.includes("lively-wave"), {
    clock: systemClock,
    timeout: 30_000,
  });
  assert.ok(drained, "the pods have come home");

  const second = demo("--once");
  assert.equal(await second.ended, 1);
  assert.match(second.output(), /error: the demo runs already in .* as process \d+\nUse that one/);

  first.child.kill("SIGINT");
  assert.equal(await first.ended, 0);
  assert.deepEqual([existsSync(directory), markedProcesses(id), idOf()], [false, [], undefined]);
});
