import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { containerConfig, ProcessBench, shell, until } from "./testing.ts";

describe("a pod of processes", () => {
  let bench: ProcessBench;
  before(async () => {
    bench = await ProcessBench.open();
  });
  after(async () => {
    await bench.close();
    assert.deepEqual(bench.processes(), []);
  });

  test("runs, writes its log, and ends with its code", async () => {
    const { id, sandbox } = await bench.start(shell("echo out; echo err >&2; echo 'to stderr' >/dev/stderr; exit 3"));
    const ended = await bench.ended(id);
    assert.equal(ended.exitCode, 3);
    assert.equal(ended.reason, "Error");
    assert.deepEqual(bench.log(ended).sort(), ["stderr err", "stderr to stderr", "stdout out"]);
    await bench.runtime.removeSandbox(sandbox);
    assert.equal(existsSync(ended.logFile), true);
  });

  test("has the variables of the pod and none of the node", async () => {
    const { id } = await bench.start(["env"], {
      environment: [
        { name: "A", value: "it's $HOME\n2" },
        { name: "b.c-d", value: "x y" },
      ],
    });
    const lines = bench.log(await bench.ended(id)).map((line) => line.replace("stdout ", ""));
    assert.ok(lines.includes("A=it's $HOME"));
    assert.ok(lines.includes("b.c-d=x y"));
    const names = lines.filter((line) => line.includes("=")).map((line) => line.split("=")[0]);
    assert.deepEqual(names.sort(), [
      "A",
      "FJORD_CONTAINER",
      "FJORD_POD_UID",
      "HOME",
      "HOST",
      "HOSTNAME",
      "PATH",
      "POD_IP",
      "PWD",
      "b.c-d",
    ]);
  });

  test("says why a program can not be run", async () => {
    const missing = await bench.start(["no-such-program"]);
    const ended = await bench.ended(missing.id);
    assert.equal(ended.exitCode, 127);
    assert.equal(ended.reason, "ContainerCannotRun");
    assert.match(ended.message ?? "", /no-such-program: no such program/);
    const other = await bench.ended((await bench.start(["/etc/passwd"])).id);
    assert.equal(other.exitCode, 126);
    assert.equal(other.reason, "ContainerCannotRun");
  });

  test("is asked to end, and killed when it does not", async () => {
    const willing = await bench.start(shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"));
    await until(async () => existsSync((await bench.container(willing.id)).logFile), "ready");
    await bench.runtime.stopContainer(willing.id, 10);
    const ended = await bench.container(willing.id);
    assert.equal(ended.exitCode, 7);
    assert.deepEqual(bench.log(ended), ["stdout ready", "stdout bye"]);
    const stubborn = await bench.start(shell("trap '' TERM; echo ready; while :; do sleep 0.05; done"));
    await until(async () => existsSync((await bench.container(stubborn.id)).logFile), "ready");
    await bench.runtime.stopContainer(stubborn.id, 0.2);
    assert.equal((await bench.container(stubborn.id)).exitCode, 137);
  });

  test("goes on while the node is away, and its log is whole", async () => {
    const { id } = await bench.start(
      shell("i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line $i; sleep 0.005; done"),
    );
    await bench.reopen();
    assert.equal((await bench.container(id)).state, "running");
    await bench.reopen();
    const ended = await bench.ended(id);
    assert.equal(ended.exitCode, 0);
    assert.deepEqual(
      bench.log(ended),
      Array.from({ length: 200 }, (_, index) => `stdout line ${index + 1}`),
    );
  });

  test("has its volumes where it asks for them, and the machine does not", async () => {
    const { id: sandbox, pod } = await bench.sandbox();
    const volume = join(pod.podDirectory, "volume");
    mkdirSync(volume);
    writeFileSync(join(volume, "file"), "content");
    const message = join(pod.podDirectory, "message");
    writeFileSync(message, "");
    const id = await bench.runtime.createContainer(
      sandbox,
      containerConfig(
        shell(
          "cat /fjord-volume/file; echo; cat /etc/fjord/deep/file; echo done >/dev/termination-log; echo no >/etc/fjord/deep/file",
        ),
        {
          mounts: [
            { hostPath: volume, containerPath: "/fjord-volume", readOnly: false },
            { hostPath: volume, containerPath: "/etc/fjord/deep", readOnly: true },
            { hostPath: message, containerPath: "/dev/termination-log", readOnly: false },
          ],
        },
      ),
      pod,
    );
    await bench.runtime.startContainer(id);
    const ended = await bench.ended(id);
    assert.equal(readFileSync(message, "utf8"), "done\n", JSON.stringify(ended));
    assert.deepEqual(
      bench.log(ended).filter((line) => line.startsWith("stdout")),
      ["stdout content", "stdout content"],
    );
    assert.match(bench.log(ended).join("\n"), /Read-only file system/);
    for (const path of ["/fjord-volume", "/etc/fjord", "/dev/termination-log"]) assert.equal(existsSync(path), false);
  });
});
