import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, type TestContext, test } from "node:test";
import { describeError, sleep, systemClock } from "@fjord/base";
import type { RuntimeContainer, SandboxConfig } from "../../runtime/index.ts";
import { CriClient } from "./cri-client.ts";
import { CriRuntime, type CriRuntimeOptions } from "./cri-runtime.ts";
import { makeCgroup } from "./pod-cgroups.ts";
import { ContainerState, RuntimeService } from "./proto/messages.ts";
import { exampleContainer, examplePod } from "./testing/example-pod.ts";
import { containerdSkip, PrivateContainerd } from "./testing.ts";

suite("when containerd or the node dies", { skip: containerdSkip() }, () => {
  let containerd: PrivateContainerd;
  let runtime: CriRuntime;

  before(async () => {
    containerd = await PrivateContainerd.start({ canHold: true });
    runtime = new CriRuntime({ socket: containerd.socket, cgroups: containerd.cgroups });
  });

  after(async () => {
    runtime?.close();
    await containerd?.stop();
  });

  const startPod = async (name: string, script: string) => {
    const pod = examplePod(containerd, name);
    const sandbox = await runtime.runSandbox(pod);
    const container = await runtime.createContainer(sandbox, exampleContainer("main", script), pod);
    await runtime.startContainer(container);
    return { pod, sandbox, container };
  };

  const find = async (id: string): Promise<RuntimeContainer | undefined> =>
    (await runtime.list()).flatMap(({ containers }) => containers).find((container) => container.id === id);

  const until = async <T>(look: () => Promise<T | undefined>, seen?: () => string): Promise<T> => {
    for (let tries = 1_200; tries > 0; tries--) {
      const found = await look();
      if (found !== undefined) return found;
      await sleep(systemClock, 50);
    }
    throw new Error(seen === undefined ? "it does not happen" : `it does not happen: ${seen()}`);
  };

  const isEnded = async (id: string) => {
    const container = await find(id);
    return container?.state === "exited" ? container : undefined;
  };

  /** Follows the changes as a node does, however often the runtime goes, until the test ends. */
  const follow = (t: TestContext) => {
    const stop = new AbortController();
    const { signal } = stop;
    const following = (async () => {
      while (!signal.aborted) {
        try {
          for await (const _ of runtime.changes(signal));
        } catch {
          await sleep(systemClock, 100, signal);
        }
      }
    })();
    t.after(() => {
      stop.abort();
      return following;
    });
  };

  /** A container whose start was given up before it had a process; how long that takes depends on the machine. */
  const givenUp = async (sandbox: string, pod: SandboxConfig): Promise<string> => {
    const client = new CriClient({ socket: containerd.socket, clock: systemClock });
    const action = "try it";
    const end = async (containerId: string) => {
      const { status } = await client.call(RuntimeService.containerStatus, { containerId }, { action });
      return status?.state === ContainerState.CONTAINER_EXITED ? status.message : undefined;
    };
    // In small steps: the moment may be short.
    const steps = Array.from({ length: 24 }, (_, step) => Math.round(5 * 1.25 ** step));
    for (const patience of [...steps, ...steps]) {
      const containerId = await runtime.createContainer(sandbox, exampleContainer("main", "exec sleep 1000"), pod);
      const signal = AbortSignal.timeout(patience);
      const call = client.call(RuntimeService.startContainer, { containerId }, { action, signal });
      await call.catch(() => {});
      let message: string | undefined;
      for (let looks = 20; looks > 0 && message === undefined; looks--) {
        message = await end(containerId);
        if (message === undefined) await sleep(systemClock, 50);
      }
      if (message?.startsWith("failed to create containerd task")) {
        client.close();
        return containerId;
      }
      await runtime.stopContainer(containerId, 0);
      await until(async () =>
        runtime.removeContainer(containerId).then(
          () => true,
          () => undefined,
        ),
      );
    }
    throw new Error("no start could be given up in time");
  };

  const removeAll = async () => {
    for (const { id } of await runtime.list()) {
      await runtime.stopSandbox(id);
      await runtime.removeSandbox(id);
    }
    assert.deepEqual(await runtime.list(), []);
  };

  test("containers outlive their runtime, and what happened meanwhile is found", async () => {
    const stays = await startPod("stays", "exec sleep 1000");
    const ends = await startPod("ends", "sleep 1.5; exit 6");
    const before = await find(stays.container);
    await containerd.killDaemon();
    await assert.rejects(runtime.list(), { code: /^CRI_(NOT_LISTENING|WENT_AWAY)$/ });
    await assert.rejects(runtime.health(), { code: "CRI_NOT_LISTENING" });
    await sleep(systemClock, 2000);
    await containerd.startDaemon();

    assert.equal((await until(() => isEnded(ends.container))).exitCode, 6);
    assert.deepEqual(await find(stays.container), before);
    assert.deepEqual(await runtime.health(), { ready: true });
    const { output } = await runtime.execSync(stays.container, ["echo", "alive"], 30_000);
    assert.equal(output, "alive\n");
    await removeAll();
  });

  test("whoever follows the changes hears that the runtime went away, and then what changed", async () => {
    const { pod, container } = await startPod("followed", "sleep 1; exit 2");
    const stop = new AbortController();
    const following = (async () => {
      for await (const _ of runtime.changes(stop.signal));
    })();
    const heard = assert.rejects(following, { code: /^CRI_(NOT_LISTENING|WENT_AWAY)$/ });
    await containerd.killDaemon();
    await heard;
    await containerd.startDaemon();
    for await (const uid of runtime.changes(stop.signal)) if (uid === pod.pod.uid && (await isEnded(container))) break;
    stop.abort();
    await removeAll();
  });

  test("no line of a log is lost or doubled while the runtime is away", async () => {
    const { container } = await startPod("log", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; sleep 0.01; done");
    await sleep(systemClock, 300);
    await containerd.killDaemon();
    await containerd.startDaemon();
    const { logFile } = await until(() => isEnded(container));
    const numbers = (await readFile(logFile, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => Number(line.split(" ")[3]));
    assert.deepEqual(
      numbers,
      Array.from({ length: 300 }, (_, i) => i + 1),
    );
    await removeAll();
  });

  /** The log has the numbers up to `count` in one of its streams, each in a line. */
  const assertCounted = async (logFile: string, stream: "stdout" | "stderr", count: number) => {
    let line = "";
    const lines: string[] = [];
    for (const record of (await readFile(logFile, "utf8")).split("\n")) {
      const [, name, tag, content = ""] = record.split(" ");
      if (name !== stream) continue;
      line += content;
      if (tag === "F") lines.push(line);
      if (tag === "F") line = "";
    }
    if (line !== "") lines.push(line);
    const wrong = lines.findIndex((each, index) => each !== String(index + 1));
    assert.deepEqual(
      { lines: lines.length, wrong: lines.slice(wrong, wrong < 0 ? 0 : wrong + 3) },
      { lines: count, wrong: [] },
    );
  };

  test("no line is lost of a container that ends while the runtime is away, not even what nobody has read yet", async (t) => {
    const { container } = await startPod("ends-alone", "seq 1 100; sleep 1; seq 101 4000; seq 1 300 >&2; printf 4001");
    follow(t);
    await sleep(systemClock, 500);
    await containerd.killDaemon();
    await sleep(systemClock, 1200);
    await containerd.startDaemon();
    const { logFile } = await until(() => isEnded(container));
    await assertCounted(logFile, "stdout", 4001);
    await assertCounted(logFile, "stderr", 300);
    await removeAll();
  });

  test("nor of one that ends with more than a pipe takes, whether the runtime is away or there", async (t) => {
    follow(t);
    const { container } = await startPod("ends-loudly", "sleep 1; seq 1 20000");
    await containerd.killDaemon();
    await sleep(systemClock, 1500);
    await containerd.startDaemon();
    const { logFile } = await until(() => isEnded(container));
    await assertCounted(logFile, "stdout", 20_000);
    await removeAll();

    for (const name of ["loud-1", "loud-2", "loud-3", "loud-4"]) {
      const { container } = await startPod(name, "sleep 0.2; seq 1 30000");
      const { logFile } = await until(() => isEnded(container));
      await assertCounted(logFile, "stdout", 30_000);
    }
    await removeAll();
  });

  /** What a node that keeps output for the one after it is given. */
  const keeping = (): CriRuntimeOptions => ({
    socket: containerd.socket,
    cgroups: containerd.cgroups,
    keptDirectory: join(containerd.directory, "outputs"),
  });

  const runProgram = (program: string) =>
    spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "ignore", "inherit"],
    });

  /** Containers that a process of its own starts as a node does; that is killed once they run. */
  const forsaken = async (script: string, ...names: string[]) => {
    const ids: string[] = [];
    for (const name of names) {
      const pod = examplePod(containerd, name);
      const sandbox = await runtime.runSandbox(pod);
      ids.push(await runtime.createContainer(sandbox, exampleContainer("main", script), pod));
    }
    const child = runProgram(starts(keeping(), ids));
    // What has not begun when the runtime is killed does not begin.
    for (const id of ids) await runtimeSays(id, ContainerState.CONTAINER_RUNNING, ContainerState.CONTAINER_EXITED);
    child.kill("SIGKILL");
    await once(child, "exit");
    return ids;
  };

  /** Asks nobody who would hold its output. */
  const runtimeSays = async (id: string, ...states: ContainerState[]) => {
    const client = new CriClient({ socket: containerd.socket, clock: systemClock });
    await until(async () => {
      const { status } = await client.call(RuntimeService.containerStatus, { containerId: id }, { action: "look" });
      return status !== undefined && states.includes(status.state) ? true : undefined;
    });
    client.close();
  };

  /** As the next node finds them. */
  const nextFinds = async (ids: readonly string[], stdout: number, stderr: number) => {
    const next = new CriRuntime(keeping());
    for (const id of ids) {
      let found: RuntimeContainer | undefined;
      const look = async () => {
        const all = (await next.list()).flatMap(({ containers }) => containers);
        found = all.find((container) => container.id === id);
        return found?.state === "exited" ? found : undefined;
      };
      const { logFile } = await until(look, () => JSON.stringify(found));
      await assertCounted(logFile, "stdout", stdout);
      await assertCounted(logFile, "stderr", stderr);
    }
    next.close();
    assert.deepEqual(await readdir(keeping().keptDirectory ?? ""), []);
  };

  test("nor of one that ends while both the runtime and the node are away", async () => {
    const ids = await forsaken("seq 1 100; sleep 1; seq 101 4000; seq 1 300 >&2", "ends-forsaken");
    await containerd.killDaemon();
    await sleep(systemClock, 1200);
    await containerd.startDaemon();
    await nextFinds(ids, 4000, 300);
    await removeAll();
  });

  test("nor of one that ends with more than a pipe takes while the node is away, however often that is killed", async () => {
    const alone = await forsaken("sleep 2; seq 1 30000; seq 1 300 >&2", "loud-alone");
    for (const id of alone) await runtimeSays(id, ContainerState.CONTAINER_EXITED);
    for (const delay of [0, 100, 300]) {
      const child = runProgram(oneLook(keeping()));
      await sleep(systemClock, 300 + delay);
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await nextFinds(alone, 30_000, 300);
    await removeAll();
  });

  test("nor of those that end as the runtime comes back while the node is away, even where the runtime never says so", async () => {
    const script = "sleep 2; seq 1 30000; seq 1 300 >&2; exit 7";
    const ids = await forsaken(script, "awaited-1", "awaited-2", "awaited-3");
    await containerd.killDaemon();
    // They wait for a reader then.
    await sleep(systemClock, 2500);
    await containerd.startDaemon();
    await nextFinds(ids, 30_000, 300);
    for (const id of ids) assert.equal((await until(() => isEnded(id))).exitCode, 7);
    await removeAll();
    // What containerd could not remove.
    await containerd.killDaemon();
    await containerd.startDaemon();
    await removeAll();
  });

  test("a container that containerd had noted without its state was never begun, and can be made again", async () => {
    const pod = examplePod(containerd, "half-made");
    const sandbox = await runtime.runSandbox(pod);
    const make = () => runtime.createContainer(sandbox, exampleContainer("main", "exec sleep 1000"), pod);
    const id = await make();
    await containerd.killDaemon();
    await rm(containerd.statusFile(id));
    await containerd.startDaemon();
    const found = await find(id);
    assert.deepEqual({ state: found?.state, exitCode: found?.exitCode }, { state: "created", exitCode: undefined });
    await runtime.removeContainer(id);
    await runtime.startContainer(await make());
    await removeAll();
  });

  test("a container that runs while containerd has lost its state may have been begun", async () => {
    const { container } = await startPod("lost-track", "exec sleep 1000");
    await containerd.killDaemon();
    await rm(containerd.statusFile(container));
    await containerd.startDaemon();
    assert.equal((await find(container))?.state, "unknown");
    await runtime.stopContainer(container, 0);
    assert.equal((await find(container))?.state, "exited");
    await removeAll();
  });

  /** Kills containerd while runc is held, once `isReached`; gives the container whose start was asked for. */
  const killedAt = async (step: "create" | "start", name: string, isReached: (id: string) => Promise<unknown>) => {
    const pod = examplePod(containerd, name);
    const sandbox = await runtime.runSandbox(pod);
    const script = "echo begun; exec sleep 1000";
    const id = await runtime.createContainer(sandbox, exampleContainer("main", script), pod);
    const release = await containerd.hold(step);
    const lost = assert.rejects(runtime.startContainer(id), { code: "CRI_WENT_AWAY" });
    await until(async () => ((await isReached(id)) ? true : undefined));
    await containerd.killDaemon();
    await lost;
    await release();
    await containerd.startDaemon();
    return { id, group: join(containerd.cgroups[0]?.directory ?? "", pod.cgroupParent, id) };
  };

  test("what waited to be begun when containerd was killed ends with its container", async () => {
    // Its pid is written down at the very end.
    const { id, group } = await killedAt("create", "made", async (id) => existsSync(containerd.pidFile(id)));
    assert.equal((await find(id))?.state, "created");
    assert.notEqual(await readFile(join(group, "cgroup.procs"), "utf8"), "", "containerd leaves it");
    await runtime.removeContainer(id);
    assert.equal(existsSync(group), false);
    await removeAll();
  });

  test("a program that containerd had begun when it was killed has been begun, though containerd forgets it", async () => {
    const log = join(examplePod(containerd, "begun-once").logDirectory, "main/0.log");
    const { id } = await killedAt(
      "start",
      "begun-once",
      async () => (await readFile(log, "utf8").catch(() => "")) !== "",
    );
    const found = await find(id);
    assert.deepEqual([found?.state, found?.exitCode], ["exited", 137]);
    await runtime.removeContainer(id);
    await removeAll();
  });

  test("processes that containerd has lost track of end with the container, and with the pod", async () => {
    const pod = examplePod(containerd, "leaky");
    const sandbox = await runtime.runSandbox(pod);
    const id = await runtime.createContainer(sandbox, exampleContainer("main", "exec sleep 1000"), pod);
    // As one that waits to be begun when containerd is killed, and that it does not find again.
    const leave = async (name: string) => {
      const child = spawn("sleep", ["1000"], { stdio: "ignore" });
      const exit = once(child, "exit");
      for (const mount of containerd.cgroups) {
        const group = `${pod.cgroupParent}/${name}`;
        await makeCgroup(mount, group);
        await writeFile(join(mount.directory, group, "cgroup.procs"), String(child.pid));
      }
      return async () => (await exit)[1];
    };
    const half = await leave(id);
    await runtime.removeContainer(id);
    assert.equal(await half(), "SIGKILL");
    assert.equal((await runtime.list())[0]?.state, "ready", "the sandbox goes on");

    const rest = await leave("of-another");
    await removeAll();
    assert.equal(await rest(), "SIGKILL");
    assert.ok(containerd.cgroups.every(({ directory }) => !existsSync(join(directory, pod.cgroupParent))));
  });

  test("a start that was given up counts for nothing, and what it leaves behind is ended", async () => {
    const pod = examplePod(containerd, "given-up");
    const sandbox = await runtime.runSandbox(pod);
    const id = await givenUp(sandbox, pod);
    // As where it is given up between the making of the first process and its start.
    await containerd.ctr("tasks", "start", "--detach", "--null-io", id);

    const next = new CriRuntime({ socket: containerd.socket, cgroups: containerd.cgroups });
    const found = (await next.list()).flatMap(({ containers }) => containers);
    assert.deepEqual(
      found.map(({ state, exitCode }) => ({ state, exitCode })),
      [{ state: "created", exitCode: undefined }],
    );
    const tasks = (await containerd.ctr("tasks", "ls", "-q")).trim().split("\n");
    assert.deepEqual(tasks, [sandbox], "only the sandbox has processes");
    await next.removeContainer(id);
    next.close();
    await removeAll();
  });

  test("a start that is under way when the node stops comes to its end", async () => {
    const pod = examplePod(containerd, "stopped");
    const sandbox = await runtime.runSandbox(pod);
    const id = await runtime.createContainer(sandbox, exampleContainer("main", "exec sleep 1000"), pod);
    await runtime.startContainer(id, AbortSignal.timeout(5));
    assert.equal((await find(id))?.state, "running");
    await removeAll();
  });

  test("a start goes on when the node that asked for it is killed: once, and with every line of its log", async () => {
    const pod = examplePod(containerd, "orphaned");
    const sandbox = await runtime.runSandbox(pod);
    const script = "i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo $i; sleep 0.05; done; exec sleep 1000";
    const id = await runtime.createContainer(sandbox, exampleContainer("main", script), pod);
    const log = join(pod.logDirectory, "main/0.log");
    const lines = async () => (await readFile(log, "utf8").catch(() => "")).trimEnd().split("\n");
    const options = { socket: containerd.socket, cgroups: containerd.cgroups };
    const settings = { ...options, startsDirectory: join(containerd.directory, "starts") };
    const release = await containerd.hold("start");
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", starts(settings, [id])], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "ignore", "inherit"],
    });
    await until(async () => ((await lines()).length > 2 ? true : undefined));
    child.kill("SIGKILL");
    await once(child, "exit");
    const next = new CriRuntime(settings);
    const listing = next.list();
    // All that it writes is written while nobody but the runtime waits for its start.
    await until(async () => ((await lines()).length >= 20 ? true : undefined));
    await release();

    const [found] = (await listing).flatMap(({ containers }) => containers);
    assert.deepEqual([found?.id, found?.state], [id, "running"]);
    assert.deepEqual(
      (await lines()).map((line) => Number(line.split(" ")[3])),
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    assert.deepEqual(await readdir(settings.startsDirectory), []);
    next.close();
    await removeAll();
  });

  test("a container that was begun after it was listed is not removed", async () => {
    const { container } = await startPod("begun", "exec sleep 1000");
    await assert.rejects(runtime.removeContainer(container), { code: "CRI_STILL_RUNS" });
    assert.equal((await find(container))?.state, "running");
    await removeAll();
  });

  test("the control group of a pod that got no sandbox is removed, and none that is used", async () => {
    const none = examplePod(containerd, "none").cgroupParent;
    for (const mount of containerd.cgroups) await makeCgroup(mount, none);
    await runtime.clearGroup(none);
    await runtime.clearGroup(none);
    assert.ok(containerd.cgroups.every(({ directory }) => !existsSync(join(directory, none))));

    const { pod, container } = await startPod("used", "exec sleep 1000");
    await assert.rejects(runtime.clearGroup(pod.cgroupParent), { code: "CRI_GROUP_BUSY" });
    assert.equal((await find(container))?.state, "running");
    await removeAll();
  });

  test("a node that is killed while it starts pods finds all of them again", async () => {
    for (const delay of [50, 150, 300]) {
      const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", starter(containerd)], {
        cwd: import.meta.dirname,
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(child.stdout, "data");
      await sleep(systemClock, delay);
      child.kill("SIGKILL");
      await once(child, "exit");
      // Calls that were under way go on in the runtime for a moment, and it lists what they made only at their end: whatever
      // runs has to be found by then, and to go.
      await until(async () => {
        const left = await runtime.list();
        assert.ok(left.every(({ pod }) => /^killed-\d$/.test(pod.name)));
        // A start that is under way is let finish first.
        await removeAll().catch((error: unknown) => assert.match(describeError(error), /in starting state/));
        await sleep(systemClock, 300);
        return (await containerd.ctr("tasks", "ls", "-q")).trim() === "" && (await runtime.list()).length === 0
          ? true
          : undefined;
      });
    }
  });
});

/** A program that starts containers, and stays. */
const starts = (options: CriRuntimeOptions, ids: readonly string[]) => `
import { CriRuntime } from "./cri-runtime.ts";
const runtime = new CriRuntime(${JSON.stringify(options)});
for (const id of ${JSON.stringify(ids)}) await runtime.startContainer(id);
setInterval(() => {}, 1000);
`;

/** A program that looks at what runs, and stays. */
const oneLook = (options: CriRuntimeOptions) => `
import { CriRuntime } from "./cri-runtime.ts";
await new CriRuntime(${JSON.stringify(options)}).list();
setInterval(() => {}, 1000);
`;

/** A program that starts five pods at once. */
const starter = ({ socket, cgroups, directory, cgroup }: PrivateContainerd) => `
import { CriRuntime } from "./cri-runtime.ts";
import { exampleContainer, examplePod } from "./testing/example-pod.ts";
const runtime = new CriRuntime(${JSON.stringify({ socket, cgroups })});
await runtime.version();
console.log("starting");
await Promise.all([0, 1, 2, 3, 4].map(async (i) => {
  const pod = examplePod(${JSON.stringify({ directory, cgroup })}, "killed-" + i);
  const sandbox = await runtime.runSandbox(pod);
  const container = await runtime.createContainer(sandbox, exampleContainer("main", "exec sleep 1000"), pod);
  await runtime.startContainer(container);
}));
setInterval(() => {}, 1000);
`;
