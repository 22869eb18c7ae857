import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs, { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Pod } from "@fjord/kube";
import { containerConfig, logLines, ProcessBench, shell, until } from "./testing.ts";

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

  test("ends and can be removed where its log cannot be written, and hides no other", async () => {
    const logDirectory = join(bench.state, "no-folder");
    writeFileSync(logDirectory, "");
    const { id, sandbox } = await bench.start(shell("echo lost; exit 3"), {}, { logDirectory });
    const other = await bench.start(shell("exec sleep 1000"));
    assert.equal((await bench.ended(id)).exitCode, 3);
    assert.equal((await bench.container(other.id)).state, "running");
    for (const each of [sandbox, other.sandbox]) await bench.runtime.removeSandbox(each);
  });

  test("is ended and removed also when its files are gone", async () => {
    const { sandbox, pod, id } = await bench.start(shell("sleep 1000 & exec sleep 1000"));
    rmSync(join(bench.state, "process", sandbox), { recursive: true });
    await bench.runtime.stopContainer(id, 1);
    assert.equal((await bench.container(id)).exitCode, 137);
    assert.deepEqual(
      bench.processes().filter((each) => each.pod === pod.pod.uid),
      [],
    );
    await bench.runtime.removeSandbox(sandbox);
    await assert.rejects(bench.container(id), /no container/);
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

  for (const containerPath of ["/fjord-volume", "/etc/fjord", "/run/fjord/secrets", "/usr/share/fjord-volume"]) {
    test(`sees the machine as it is beside its volume at ${containerPath}`, async () => {
      const { id: sandbox, pod } = await bench.sandbox();
      const script = [
        "ls / | grep -v fjord-volume | md5sum",
        "ls /usr/bin /proc/sys /sys /dev/pts | md5sum",
        "readlink -f /bin/sh /var/run",
        "getent hosts localhost | head -1",
        "head -c 100 /dev/urandom | wc -c",
        "echo x >/dev/null && echo null",
        `echo 'console.log("node", 6 * 7)' | "$NODE" -`,
        "touch /dev/shm/$$ && rm /dev/shm/$$ && echo shm",
        `cat ${containerPath}/file`,
      ].join("; ");
      writeFileSync(join(pod.podDirectory, "file"), "content\n");
      const config = containerConfig(shell(script), {
        environment: [{ name: "NODE", value: process.execPath }],
        mounts: [{ hostPath: pod.podDirectory, containerPath, readOnly: true }],
      });
      const id = await bench.runtime.createContainer(sandbox, config, pod);
      await bench.runtime.startContainer(id);
      const ended = await bench.ended(id);
      const outside = spawnSync("sh", ["-c", script.replace(/; cat [^;]*$/, "; echo content")], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, NODE: process.execPath },
      });
      assert.equal(
        bench
          .log(ended)
          .map((line) => line.replace("stdout ", ""))
          .join("\n"),
        outside.stdout.trim(),
        ended.message,
      );
    });
  }

  test("does not mind what goes away beside its mount points before it starts", async () => {
    const { id: sandbox, pod } = await bench.sandbox();
    const beside = mkdtempSync(join(bench.state, "beside-"));
    for (const name of ["stays", "goes"]) writeFileSync(join(beside, name), name);
    mkdirSync(join(beside, "goes-too"));
    const mounts = [{ hostPath: pod.podDirectory, containerPath: join(beside, "volume"), readOnly: false }];
    const config = containerConfig(shell(`cat ${beside}/stays; ls -d ${beside}/volume/work`), { mounts });
    const id = await bench.runtime.createContainer(sandbox, config, pod);
    for (const name of ["goes", "goes-too"]) rmSync(join(beside, name), { recursive: true });
    await bench.runtime.startContainer(id);
    const ended = await bench.ended(id);
    assert.equal(ended.exitCode, 0, ended.message);
    assert.equal(bench.log(ended).at(-1), `stdout stays${beside}/volume/work`);
  });

  test("is told what processes are not given, and so is what joins it later", () => {
    const { runtime } = bench;
    const securityContext = { seccompProfile: { type: "RuntimeDefault" as const } };
    const pod: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {},
      spec: { securityContext, containers: [{ name: "a" }] },
    };
    assert.match(runtime.notes(pod).join(), /The seccompProfile RuntimeDefault of a is not enforced/);
    const labelled = { name: "b", command: ["sh"], securityContext: { seLinuxOptions: { level: "s0" } } };
    const { objections, notes } = runtime.judgeEphemeral(pod, labelled);
    assert.match(objections.join(), /Container b has seLinuxOptions/);
    assert.match(notes.join(), /The seccompProfile RuntimeDefault of b is not enforced/);
  });

  test("has a name of its own", async () => {
    const { id } = await bench.start(shell("cat /proc/sys/kernel/hostname; echo $HOSTNAME"));
    assert.deepEqual(bench.log(await bench.ended(id)), ["stdout pod-host", "stdout pod-host"]);
    assert.notEqual(readFileSync("/proc/sys/kernel/hostname", "utf8").trim(), "pod-host");
  });

  test("has no files open but its streams", async () => {
    for (const tty of [false, true]) {
      const { id } = await bench.start(["ls", "/proc/self/fd"], { tty });
      const lines = bench.log(await bench.ended(id)).flatMap((line) => line.replace("stdout ", "").trim().split(/\s+/));
      // The last is the folder that ls reads; beyond is what whoever started the tests has left open.
      assert.deepEqual(
        lines.filter((line) => line.length === 1),
        ["0", "1", "2", "3"],
      );
    }
  });

  test("ends by the signal it asks for", async () => {
    const script = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done";
    const { id } = await bench.start(shell(script), { stopSignal: "SIGUSR1" });
    await until(async () => bench.hasLog(await bench.container(id), "stdout ready"), "ready");
    await bench.runtime.stopContainer(id, 10);
    assert.equal((await bench.container(id)).exitCode, 5);
  });

  test("goes on in a new log after the old one was renamed", async () => {
    const script = "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after";
    const { id, pod } = await bench.start(shell(script));
    const { logFile } = await until(async () => {
      const container = await bench.container(id);
      return bench.hasLog(container, "stdout before") && container;
    }, "output");
    renameSync(logFile, `${logFile}.old`);
    await bench.runtime.reopenLog(id);
    writeFileSync(join(pod.podDirectory, "work", "go"), "");
    assert.deepEqual(bench.log(await bench.ended(id)), ["stdout after"]);
    assert.deepEqual(logLines(readFileSync(`${logFile}.old`, "utf8")), ["stdout before"]);
  });

  test("tells its end soon, without being asked", async () => {
    const { id, pod } = await bench.start(shell("while [ ! -e go ]; do sleep 0.01; done; exit 1"));
    const stop = new AbortController();
    const changes = bench.runtime.changes(stop.signal)[Symbol.asyncIterator]();
    const told = changes.next();
    writeFileSync(join(pod.podDirectory, "work", "go"), "");
    assert.deepEqual(await told, { value: pod.pod.uid, done: false });
    assert.equal((await bench.container(id)).state, "exited");
    stop.abort();
    assert.equal((await changes.next()).done, true);
  });

  test("is not started once it was stopped, and not twice", async () => {
    const { id: sandbox, pod } = await bench.sandbox();
    const once = await bench.runtime.createContainer(sandbox, containerConfig(shell("echo once; sleep 0.2")), pod);
    assert.equal((await bench.container(once)).state, "created");
    await Promise.all([bench.runtime.startContainer(once), bench.runtime.startContainer(once)]);
    await bench.runtime.startContainer(once);
    assert.deepEqual(bench.log(await bench.ended(once)), ["stdout once"]);
    const never = await bench.runtime.createContainer(
      sandbox,
      containerConfig(shell("echo never"), { attempt: 1 }),
      pod,
    );
    await bench.runtime.stopContainer(never, 5);
    await bench.runtime.startContainer(never);
    const ended = await bench.container(never);
    assert.equal(ended.state, "exited");
    assert.deepEqual(bench.log(ended), []);
  });

  test("that a node before has made and not started is never seen as ended, nor started", async () => {
    const { id: sandbox, pod } = await bench.sandbox();
    const before = bench.runtime;
    const id = await before.createContainer(sandbox, containerConfig(shell("echo late")), pod);
    await bench.reopen();
    await assert.rejects(before.startContainer(id), /made anew/);
    await assert.rejects(bench.runtime.startContainer(id), /made anew/);
    const states = async () =>
      (await bench.runtime.list()).find((each) => each.id === sandbox)?.containers.map((each) => each.state) ?? [];
    const removal = bench.runtime.removeContainer(id);
    assert.ok(!(await states()).includes("exited"));
    await bench.reopen();
    assert.ok(!(await states()).includes("exited"));
    await removal;
    await bench.runtime.removeContainer(id);
    assert.deepEqual((await bench.runtime.list()).find((each) => each.id === sandbox)?.containers, []);
    assert.deepEqual(bench.processes(), []);
  });

  test("gives its address back, and no two have the same", async () => {
    const sandboxes = await Promise.all(Array.from({ length: 5 }, () => bench.sandbox()));
    const addressOf = async (id: string) => (await bench.runtime.list()).find((each) => each.id === id)?.addresses;
    const addresses = await Promise.all(sandboxes.map(async ({ id }) => (await addressOf(id))?.[0]));
    assert.equal(new Set(addresses).size, 5);
    await bench.reopen();
    const another = await bench.sandbox();
    assert.equal(addresses.includes((await addressOf(another.id))?.[0]), false);
    for (const { id } of sandboxes) {
      await bench.runtime.stopSandbox(id);
      await bench.runtime.stopSandbox(id);
      assert.deepEqual(await addressOf(id), []);
    }
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

  test("that was just beginning when the node went away has begun when it is back", async () => {
    const { id: sandbox, pod } = await bench.sandbox();
    const id = await bench.runtime.createContainer(sandbox, containerConfig(shell("sleep 1000")), pod);
    const folder = join(bench.state, "process", sandbox, id);
    const keeper = readFileSync(join(folder, "keeper.sh"), "utf8");
    writeFileSync(join(folder, "keeper.sh"), keeper.replace("\nset +C\n", "\nset +C\nsleep 1\n"));
    const start = bench.runtime.startContainer(id);
    await until(() => existsSync(join(folder, "claim")), "its keeper");
    await bench.reopen();
    assert.equal((await bench.container(id)).state, "running");
    await start;
  });

  test("is not taken for lost while its keeper is just writing that it is there", async (t) => {
    const { id } = await bench.start(shell("sleep 1000"));
    const { readFileSync: read } = fs;
    // A shell makes a file first, and then writes: whoever looks in between sees nothing in it, however often.
    for (let looks = 1; looks <= 6; looks++) {
      let left = looks;
      t.mock.method(fs, "readFileSync", (path: string, options: "utf8") =>
        String(path).endsWith(`${id}/claim`) && left-- > 0 ? "" : read(path, options),
      );
      syncBuiltinESMExports();
      const { state } = await bench.container(id).finally(() => {
        t.mock.restoreAll();
        syncBuiltinESMExports();
      });
      assert.equal(state, "running", `whole after ${looks} looks`);
    }
  });

  test("does not outlast a state that was put back from a copy of before it", async (t) => {
    const records = join(bench.state, "process");
    const kept = await bench.start(shell("echo here; sleep 1000"));
    await until(async () => existsSync((await bench.container(kept.id)).logFile), "the first one");
    assert.equal(spawnSync("cp", ["-a", records, `${records}-copy`]).status, 0);
    const later = await bench.start(shell("sleep 1000"));
    const other = await ProcessBench.open();
    t.after(() => other.close());
    const elsewhere = await other.start(shell("sleep 1000"));
    bench.runtime.close();
    rmSync(records, { recursive: true });
    renameSync(`${records}-copy`, records);
    await bench.reopen();
    const ofPod = (uid: string) => bench.processes().filter(({ pod }) => pod === uid);
    assert.deepEqual(ofPod(later.pod.pod.uid), []);
    // Its keeper wrote to the folder that is gone.
    assert.equal((await bench.ended(kept.id)).exitCode, 137);
    assert.deepEqual(ofPod(kept.pod.pod.uid), []);
    assert.equal((await other.container(elsewhere.id)).state, "running");
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
