import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readProc } from "./process-table.ts";
import { containerConfig, ProcessBench } from "./testing.ts";

const PODS = 100;

test("a hundred pods start together, and what keeps them takes little memory", { timeout: 240_000 }, async (t) => {
  const bench = await ProcessBench.open();
  t.after(() => bench.close());
  const begun = performance.now();
  await Promise.all(Array.from({ length: PODS }, startPod));
  t.diagnostic(`${PODS} pods started in ${Math.round(performance.now() - begun)} ms`);
  const containers = (await bench.runtime.list()).flatMap((sandbox) => sandbox.containers);
  assert.equal(containers.filter((container) => container.state === "running").length, PODS);

  const keepers = bench.processes().filter((each) => each.keeper);
  const kilobytes = keepers.reduce((sum, each) => sum + proportionalSize(each.pid), 0) / PODS;
  t.diagnostic(`${Math.round(kilobytes)} KB for each container, beside its program`);
  assert.ok(kilobytes > 0 && kilobytes < 3 * 1024);

  const ended = performance.now();
  await Promise.all((await bench.runtime.list()).map((sandbox) => bench.runtime.removeSandbox(sandbox.id)));
  t.diagnostic(`${PODS} pods removed in ${Math.round(performance.now() - ended)} ms`);
  assert.deepEqual(bench.processes(), []);

  /** With the mounts that every pod has. */
  async function startPod(): Promise<void> {
    const { id: sandbox, pod } = await bench.sandbox();
    const file = join(pod.podDirectory, "file");
    writeFileSync(file, readFileSync("/etc/hosts"));
    const mounts = [
      { hostPath: pod.podDirectory, containerPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true },
      { hostPath: file, containerPath: "/etc/hosts", readOnly: false },
      { hostPath: file, containerPath: "/dev/termination-log", readOnly: false },
    ];
    const id = await bench.runtime.createContainer(sandbox, containerConfig(["sleep", "1000"], { mounts }), pod);
    await bench.runtime.startContainer(id);
  }
});

function proportionalSize(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readProc(`/proc/${pid}/smaps_rollup`) ?? "")?.[1] ?? 0);
}
