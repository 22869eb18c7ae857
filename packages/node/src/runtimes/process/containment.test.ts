import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ProcessRuntimeOptions } from "./process-runtime.ts";
import { ProcessBench, shell, sleepers, until } from "./testing.ts";

let sleeps = 0;
/** A time to sleep that nothing else on the machine sleeps for. */
const uniqueSeconds = () => `${1_000_000 + process.pid}.${++sleeps}`;

const ways: { name: string; options: Partial<ProcessRuntimeOptions>; unmarked: boolean }[] = [
  { name: "as the machine permits", options: {}, unmarked: true },
  { name: "without control groups", options: { controlGroups: false }, unmarked: true },
  { name: "without namespaces", options: { mountNamespace: "none", controlGroups: false }, unmarked: false },
];

for (const way of ways) {
  describe(`whatever a pod has started ends with it, ${way.name}`, () => {
    for (const clean of way.unmarked ? ["", "env -i"] : [""]) {
      for (const end of ["exit 0", "exec sleep 1000"]) {
        test(`a daemon ${clean === "" ? "with" : "without"} our mark, ${end}`, async () => {
          const bench = await ProcessBench.open(way.options);
          try {
            const seconds = uniqueSeconds();
            const daemon = `setsid ${clean} sh -c 'sleep ${seconds} </dev/null >/dev/null 2>&1 & sleep 0.1; echo ready'`;
            const { id, sandbox } = await bench.start(shell(`${daemon}; ${end}`));
            if (end === "exit 0") await bench.ended(id);
            else {
              await until(async () => bench.hasLog(await bench.container(id), "stdout ready"), "ready");
              assert.equal(sleepers(seconds).length, 1);
              await bench.runtime.stopContainer(id, 0);
            }
            assert.deepEqual(sleepers(seconds), []);
            await bench.runtime.removeSandbox(sandbox);
            assert.deepEqual(bench.processes(), []);
          } finally {
            await bench.close();
          }
        });
      }
    }
  });
}
