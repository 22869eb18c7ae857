import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { markedProcesses } from "../leftovers.ts";
import { Registry } from "../registry.ts";
import { realNodesSkip } from "../testing.ts";
import { assertTour, startTestDemo } from "./test-demo.ts";

const run = promisify(execFile);

test("on Kubernetes the demo leaves nothing when it is interrupted, clears up after a crash, and plays its tour", {
  // Five whole clusters: docs/demo.md says how to run it.
  skip: process.env.FJORD_DEMO_KUBERNETES === undefined ? "FJORD_DEMO_KUBERNETES is not set" : realNodesSkip(),
  timeout: 900_000,
}, async (t) => {
  const parent = mkdtempSync(join(tmpdir(), "fjord-demo-"));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const directory = join(parent, "demo");
  const demo = (...flags: string[]) => {
    const started = startTestDemo("--kubernetes", `--directory=${directory}`, ...flags);
    t.after(() => started.child.kill("SIGKILL"));
    return started;
  };
  const idOf = () => new Registry().list().find((bed) => bed.directory.startsWith(directory))?.id ?? "";

  const interrupted = demo();
  await interrupted.says(/the shop's image is on every node/);
  const first = idOf();
  interrupted.child.kill("SIGINT");
  assert.equal(await interrupted.ended, 130, interrupted.output());
  assert.deepEqual([existsSync(directory), idOf(), leftOf(first)], [false, "", []]);

  const crashed = demo();
  await crashed.says(/ is there/);
  const second = idOf();
  crashed.child.kill("SIGKILL");
  await once(crashed.child, "exit");
  assert.notDeepEqual(leftOf(second), [], "something is left to be cleared up");

  const tour = demo("--tour");
  await tour.says(/Ready after/);
  assert.deepEqual(leftOf(second), []);
  const third = idOf();
  const shell = async (command: string) => (await run("/bin/sh", ["-c", `. ${directory}/env && ${command}`])).stdout;
  assert.match(await shell("kubectl -n shop get pods -o wide"), /^worker-\S+ +1\/1 +Running .* harbor-node-1 /m);
  assert.match(await shell("kubectl --context harbor version"), /^Server Version: v1\./m);
  // The tour goes on meanwhile, and one site is cut off by now: this is another.
  const there = "kubectl -n shop get pods -l app=front --field-selector spec.nodeName=lively-wave -o name | head -n 1";
  assert.match(await shell(`kubectl -n shop logs $(${there})`), /serves at 10\.\S+:8080/);
  // Its parts reach each other by links.
  assert.match(await shell("fjord network status"), /^lively-wave .*direct/m);
  const front = (await shell(`${there} | cut -d/ -f2`)).trim();
  assert.match(await shell(`fjord network explain ${front} service/api --namespace shop`), /harbor/);
  const tried = await shell("fjord network test lively-wave");
  assert.match(tried, /^harbor +lively-wave +ok .* ok +ok +ok/m);
  assert.match(tried, /^lively-wave +harbor .* ok +ok +ok/m);
  const link = (await shell("demo page")).trim();
  assert.match(await (await fetch(link)).text(), /<html/);

  const status = await tour.ended;
  assert.equal(status, 0, tour.output());
  assertTour(tour.output());
  assert.deepEqual([existsSync(directory), idOf(), leftOf(third)], [false, "", []]);
});

/** Processes and network devices of a bed. */
function leftOf(bed: string): string[] {
  const devices = readdirSync("/sys/class/net").filter((name) => name.startsWith(`fj${bed}`));
  return [...markedProcesses(bed).map(({ pid }) => String(pid)), ...devices];
}
