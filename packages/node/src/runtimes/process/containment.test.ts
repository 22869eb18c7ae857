import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
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

describe("a container whose helpers are killed", () => {
  const everyLine = (count: number) => Array.from({ length: count }, (_, index) => `stdout ${index + 1}`);
  const counting = shell("i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo $i; sleep 0.005; done");

  test("goes on with another carrier; at most what the first had in its hands is lost", async () => {
    const bench = await ProcessBench.open();
    try {
      const { id } = await bench.start(counting);
      await until(async () => bench.hasLog(await bench.container(id), "stdout 20"), "output");
      const carriers = readFileSync(
        join(bench.state, "process", (await bench.container(id)).sandbox, id, "carriers"),
        "utf8",
      );
      for (const pid of carriers.trim().split(" ")) process.kill(Number(pid), "SIGKILL");
      const ended = await bench.ended(id);
      assert.equal(ended.exitCode, 0);
      const lines = bench.log(ended);
      const missing = everyLine(400).filter((line) => !lines.includes(line));
      // What it had read and not written, which are several lines where it was slow.
      const first = Number(missing[0]?.split(" ")[1] ?? 0);
      assert.deepEqual(
        missing,
        missing.map((_, index) => `stdout ${first + index}`),
      );
      assert.deepEqual(
        lines,
        everyLine(400).filter((line) => !missing.includes(line)),
      );
    } finally {
      await bench.close();
    }
  });

  for (const restarted of [false, true]) {
    test(`ends without its keeper, ${restarted ? "found after a restart" : "noticed at once"}`, async () => {
      const bench = await ProcessBench.open();
      try {
        const { id } = await bench.start(counting, { stdin: true });
        const running = await bench.container(id);
        await until(async () => bench.hasLog(running, "stdout 20"), "output");
        const directory = join(bench.state, "process", running.sandbox, id);
        const keeper = Number.parseInt(readFileSync(join(directory, "claim"), "utf8"), 10);
        if (restarted) bench.runtime.close();
        process.kill(keeper, "SIGKILL");
        if (restarted) await bench.reopen();
        const ended = await bench.ended(id);
        assert.equal(ended.exitCode, 137);
        assert.match(ended.message ?? "", /vanished/);
        const lines = bench.log(ended);
        assert.deepEqual(lines, everyLine(lines.length));
        assert.equal(readFileSync(join(directory, "stdout.raw"), "utf8").trim().split("\n").length, lines.length);
        await until(() => bench.processes().length === 0, "nothing left");
      } finally {
        await bench.close();
      }
    });
  }
});
