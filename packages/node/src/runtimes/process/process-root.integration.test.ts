import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { SecurityConfig } from "../../runtime/configuration.ts";
import type { RuntimeContainer } from "../../runtime/runtime.ts";
import { openCgroups } from "./cgroups.ts";
import { ProcessRuntime } from "./process-runtime.ts";
import { containerConfig, ProcessBench, plainSecurity, sandboxConfig, shell, until } from "./testing.ts";

const skip = process.geteuid?.() === 0 ? false : "needs root";
const skipGroups = skip || (typeof openCgroups() === "string" ? "needs control groups" : false);

describe("a pod of processes that root runs", { skip }, () => {
  let bench: ProcessBench;
  before(async () => {
    bench = await ProcessBench.open();
  });
  after(() => bench.close());

  async function output(script: string, security: Partial<SecurityConfig>): Promise<string[]> {
    const { id } = await bench.start(shell(script), { security: { ...plainSecurity, ...security } });
    return bench.log(await bench.ended(id)).map((line) => line.replace(/^std(out|err) /, ""));
  }

  test("has the user and the groups it asks for, and can still write to its output by name", async () => {
    const lines = await output("id -u; id -g; id -G; echo named >/dev/stdout; touch file && ls $HOME/file", {
      runAsUser: 1234,
      runAsGroup: 2345,
      supplementalGroups: [3456, 4567],
    });
    assert.deepEqual(lines.slice(0, 4), ["1234", "2345", "2345 3456 4567", "named"]);
    assert.match(lines.at(-1) ?? "", /^\/.*\/file$/);
  });

  test("has the capabilities of containers, or those it asks for", async () => {
    const capabilities = "grep CapEff /proc/self/status";
    assert.match((await output(capabilities, {})).join(), /CapEff:\s+00000000a80425fb/);
    assert.match((await output(capabilities, { dropCapabilities: ["ALL"] })).join(), /CapEff:\s+0000000000000000/);
    const one = await output(capabilities, { dropCapabilities: ["ALL"], addCapabilities: ["NET_BIND_SERVICE"] });
    assert.match(one.join(), /CapEff:\s+0000000000000400/);
    const own = /CapEff:\s+(\w+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    assert.match((await output(capabilities, { privileged: true })).join(), new RegExp(`CapEff:\\s+${own}`));
  });

  test("gains no privileges where it must not", async () => {
    assert.match((await output("grep NoNewPrivs /proc/self/status", { noNewPrivileges: true })).join(), /1$/);
    assert.match((await output("grep NoNewPrivs /proc/self/status", {})).join(), /0$/);
  });

  for (const containerPath of ["/fjord-data", "/tmp/fjord-data", "/etc/fjord/data"]) {
    test(`writes to its volume at ${containerPath} and nowhere else with a read-only root`, async () => {
      const { id: sandbox, pod } = await bench.sandbox();
      const volume = join(pod.podDirectory, "volume");
      mkdirSync(volume);
      const script = `for path in / /etc /var /usr /root; do touch $path/fjord-probe 2>/dev/null && echo wrote $path && rm $path/fjord-probe; done; echo y >${containerPath}/file; echo x >/dev/null && echo null`;
      const config = containerConfig(shell(script), {
        mounts: [{ hostPath: volume, containerPath, readOnly: false }],
        security: { ...plainSecurity, readOnlyRootFilesystem: true },
      });
      const id = await bench.runtime.createContainer(sandbox, config, pod);
      await bench.runtime.startContainer(id);
      const ended = await bench.ended(id);
      assert.deepEqual(bench.log(ended), ["stdout null"], ended.message);
      assert.equal(readFileSync(join(volume, "file"), "utf8"), "y\n");
    });
  }

  test("sees new files in a volume, and volumes within volumes", async () => {
    const { id: sandbox, pod } = await bench.sandbox();
    const outer = join(pod.podDirectory, "outer");
    const inner = join(pod.podDirectory, "inner");
    for (const path of [outer, inner]) mkdirSync(path);
    writeFileSync(join(inner, "deep"), "deep");
    const config = containerConfig(
      shell("while [ ! -e /fjord-outer/go ]; do sleep 0.01; done; cat /fjord-outer/a/b/deep"),
      {
        mounts: [
          { hostPath: inner, containerPath: "/fjord-outer/a/b", readOnly: true },
          { hostPath: outer, containerPath: "/fjord-outer", readOnly: false },
        ],
      },
    );
    const id = await bench.runtime.createContainer(sandbox, config, pod);
    await bench.runtime.startContainer(id);
    writeFileSync(join(outer, "go"), "");
    assert.deepEqual(bench.log(await bench.ended(id)), ["stdout deep"]);
  });

  test("has the resolver it asks for", async () => {
    const { id } = await bench.start(
      ["cat", "/etc/resolv.conf"],
      {},
      {
        dns: { servers: ["192.0.2.1"], searches: ["a.example", "b.example"], options: ["ndots:5"] },
      },
    );
    assert.deepEqual(bench.log(await bench.ended(id)), [
      "stdout nameserver 192.0.2.1",
      "stdout search a.example b.example",
      "stdout options ndots:5",
    ]);
  });

  test("is killed for its memory, and says so", { skip: skipGroups }, async () => {
    const eat = "x=a; while :; do x=$x$x; done";
    const { id } = await bench.start(shell(eat), { resources: { memoryLimit: 16 * 1024 * 1024 } });
    const ended = await bench.ended(id);
    assert.equal(ended.reason, "OOMKilled", JSON.stringify(ended));
    assert.equal(ended.exitCode, 137);
  });

  test("has no more than its share of the processor, until that is changed", { skip: skipGroups }, async () => {
    const { id } = await bench.start(shell("while :; do :; done"), { resources: { cpuLimit: 100, cpuRequest: 100 } });
    const used = async () => (await bench.runtime.stats()).containers.find((each) => each.id === id)?.usage;
    const first = await until(used, "usage");
    const second = await until(async () => {
      const now = await used();
      return now && now.time - first.time > 1000 ? now : undefined;
    }, "a second");
    const share = ((second.cpuNanoseconds ?? 0) - (first.cpuNanoseconds ?? 0)) / ((second.time - first.time) * 1e6);
    assert.ok(share < 0.2, `it used ${share} of a processor`);
    await bench.runtime.updateResources(id, { cpuLimit: 2000 });
    assert.equal((await bench.container(id)).resources?.cpuLimit, 2000);
  });
});

test("pods end and go on a full disk", { skip }, async () => {
  const bench = await ProcessBench.open();
  const disk = join(bench.state, "disk");
  mkdirSync(disk);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", disk]);
  const runtime = await ProcessRuntime.open({ stateDirectory: disk });
  try {
    const start = async (script: string) => {
      const pod = sandboxConfig(disk);
      const sandbox = await runtime.runSandbox(pod);
      const id = await runtime.createContainer(sandbox, containerConfig(shell(script)), pod);
      await runtime.startContainer(id);
      return { id, sandbox };
    };
    const find = async (id: string) =>
      (await runtime.list()).flatMap(({ containers }) => containers).find((container) => container.id === id);
    const words = await start("echo before; trap 'echo after; exit 0' TERM; while :; do sleep 0.01; done");
    const silent = await start("exec sleep 1000");
    await until(
      async () => bench.hasLog((await find(words.id)) as RuntimeContainer, "stdout before"),
      "the first line",
    );
    assert.throws(() => writeFileSync(join(disk, "filler"), Buffer.alloc(2 ** 21)), { code: "ENOSPC" });

    for (const { id } of [words, silent]) await runtime.stopContainer(id, 5);
    assert.deepEqual([(await find(words.id))?.state, (await find(silent.id))?.state], ["exited", "exited"]);
    await assert.rejects(start("true"), { code: "ENOSPC" });
    await runtime.removeSandbox(silent.sandbox);
    assert.equal(await find(silent.id), undefined);

    rmSync(join(disk, "filler"));
    const ended = (await find(words.id)) as RuntimeContainer;
    assert.deepEqual(bench.log(ended).slice(0, 1), ["stdout before"]);
    await runtime.removeSandbox(words.sandbox);
    assert.deepEqual(await runtime.list(), []);
  } finally {
    for (const { id } of await runtime.list()) await runtime.removeSandbox(id);
    runtime.close();
    execFileSync("umount", [disk]);
    await bench.close();
  }
});
