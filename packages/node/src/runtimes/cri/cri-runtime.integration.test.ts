import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import type { ContainerConfig, RuntimeContainer, SandboxConfig } from "../../runtime/index.ts";
import { CriRuntime } from "./cri-runtime.ts";
import { exampleContainer, examplePod, plainSecurity } from "./testing/example-pod.ts";
import { containerdSkip, PrivateContainerd, testImages } from "./testing.ts";

suite("pods by containerd", { skip: containerdSkip() }, () => {
  let containerd: PrivateContainerd;
  let runtime: CriRuntime;

  before(async () => {
    containerd = await PrivateContainerd.start();
    runtime = newRuntime();
  });

  after(async () => {
    runtime?.close();
    await containerd?.stop();
  });

  const newRuntime = () =>
    new CriRuntime({ socket: containerd.socket, cgroups: containerd.cgroups, dial: containerd.dial });

  const start = async (sandbox: string, config: ContainerConfig, pod: SandboxConfig) => {
    const id = await runtime.createContainer(sandbox, config, pod);
    await runtime.startContainer(id);
    return id;
  };

  const find = async (id: string): Promise<RuntimeContainer | undefined> =>
    (await runtime.list()).flatMap(({ containers }) => containers).find((container) => container.id === id);

  const ended = async (id: string): Promise<RuntimeContainer> => {
    for (let tries = 1_200; tries > 0; tries--) {
      const container = await find(id);
      if (container?.state === "exited") return container;
      await sleep(systemClock, 50);
    }
    throw new Error(`the container ${id} does not end`);
  };

  const logOf = async (id: string): Promise<string[]> => {
    const file = (await find(id))?.logFile ?? "";
    const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
    return lines.map((line) => line.split(" ").slice(3).join(" "));
  };

  /** What a container that goes on has written, once it is as much. */
  const written = async (id: string, lines: number): Promise<string[]> => {
    for (let tries = 1_200; tries > 0; tries--) {
      const log = await logOf(id);
      if (log.length >= lines) return log;
      await sleep(systemClock, 50);
    }
    throw new Error(`the container ${id} does not write`);
  };

  /** Runs a script to its end; gives what it wrote. */
  const outputOf = async (name: string, config: Partial<ContainerConfig> & { script: string }, change = {}) => {
    const pod = examplePod(containerd, name, change);
    const sandbox = await runtime.runSandbox(pod);
    const { script, ...rest } = config;
    const id = await start(sandbox, exampleContainer("main", script, rest), pod);
    await ended(id);
    const lines = await logOf(id);
    await runtime.stopSandbox(sandbox);
    await runtime.removeSandbox(sandbox);
    return lines;
  };

  test("says what it is, and that it is ready", async () => {
    const version = await runtime.version();
    assert.equal(version.name, "containerd");
    assert.match(version.version, /^\d+\.\d+/);
    assert.deepEqual(await runtime.health(), { ready: true });
  });

  test("a pod of two containers lives and goes, leaving its logs alone", async () => {
    const pod = examplePod(containerd, "whole", { annotations: { note: "kept" } });
    const sandbox = await runtime.runSandbox(pod);
    const one = await start(sandbox, exampleContainer("one", "echo first; hostname; exit 3"), pod);
    const two = await start(sandbox, exampleContainer("two", "echo second >&2; exec sleep 1000"), pod);

    assert.equal((await ended(one)).exitCode, 3);
    const [listed] = await runtime.list();
    assert.equal(listed?.id, sandbox);
    assert.deepEqual(listed?.pod, pod.pod);
    assert.equal(listed?.state, "ready");
    assert.equal(listed?.annotations.note, "kept");
    assert.match(listed?.addresses[0] ?? "", /^10\.213\.0\./);
    const [newest, oldest] = listed?.containers ?? [];
    assert.deepEqual([newest?.name, newest?.state, oldest?.name, oldest?.state], ["two", "running", "one", "exited"]);
    assert.equal(oldest?.reason, "Error");
    assert.ok((oldest?.finishedAt ?? 0) >= (oldest?.startedAt ?? Number.POSITIVE_INFINITY));
    assert.equal(newest?.exitCode, undefined);
    assert.equal(newest?.image, testImages.busybox);
    assert.match(newest?.imageId ?? "", /sha256:/);
    assert.deepEqual(await logOf(one), ["first", "whole"]);
    assert.deepEqual(await written(two, 1), ["second"]);

    await runtime.stopSandbox(sandbox);
    assert.equal((await find(two))?.state, "exited");
    assert.equal((await runtime.list())[0]?.state, "notReady");
    await runtime.removeSandbox(sandbox);
    assert.deepEqual(await runtime.list(), []);
    assert.ok(existsSync(join(pod.logDirectory, "one/0.log")));
    for (const mount of containerd.cgroups)
      assert.ok(!existsSync(join(mount.directory, pod.cgroupParent)), mount.directory);
  });

  test("what has stopped can be stopped again, and what is gone removed again", async () => {
    const pod = examplePod(containerd, "again");
    const sandbox = await runtime.runSandbox(pod);
    const id = await start(sandbox, exampleContainer("main", "exit 0"), pod);
    await ended(id);
    await runtime.stopContainer(id, 1);
    await runtime.removeContainer(id);
    await runtime.removeContainer(id);
    await runtime.stopContainer(id, 1);
    for (let times = 0; times < 2; times++) {
      await runtime.stopSandbox(sandbox);
      await runtime.removeSandbox(sandbox);
      await runtime.stopSandbox(sandbox);
    }
  });

  test("the control group of a pod goes with the last of its sandboxes, in whatever order they go", async () => {
    const pod = examplePod(containerd, "twice");
    const group = join(containerd.cgroups[0]?.directory ?? "", pod.cgroupParent);
    const first = await runtime.runSandbox(pod);
    await runtime.stopSandbox(first);
    const second = await runtime.runSandbox({ ...pod, attempt: 1 });
    assert.deepEqual(
      (await runtime.list()).map(({ id, attempt }) => [id, attempt]),
      [
        [second, 1],
        [first, 0],
      ],
    );
    await runtime.removeSandbox(first);
    assert.ok(existsSync(group));
    await runtime.removeSandbox(second);
    assert.ok(!existsSync(group));
    const both = [await runtime.runSandbox(pod), await runtime.runSandbox({ ...pod, attempt: 1 })];
    await runtime.list();
    await Promise.all(both.map((id) => runtime.removeSandbox(id)));
    assert.ok(!existsSync(group));
  });

  test("a container has its grace, and is killed after it", async () => {
    const pod = examplePod(containerd, "grace");
    const sandbox = await runtime.runSandbox(pod);
    const polite = await start(
      sandbox,
      exampleContainer("polite", 'trap "echo bye; exit 7" TERM; echo ready; while :; do sleep 0.05; done'),
      pod,
    );
    const deaf = await start(sandbox, exampleContainer("deaf", 'trap "" TERM; while :; do sleep 0.05; done'), pod);
    await written(polite, 1);
    await runtime.stopContainer(polite, 30);
    assert.equal((await find(polite))?.exitCode, 7);
    assert.deepEqual(await logOf(polite), ["ready", "bye"]);
    const began = Date.now();
    await runtime.stopContainer(deaf, 1);
    assert.ok(Date.now() - began >= 900, "its second was not given");
    assert.equal((await find(deaf))?.exitCode, 137);
    await runtime.removeSandbox(sandbox);
    assert.deepEqual(await runtime.list(), [], "a sandbox that was not stopped first goes too");
  });

  test("a container that takes too much memory says so", async () => {
    const pod = examplePod(containerd, "greedy");
    const sandbox = await runtime.runSandbox(pod);
    const config = exampleContainer("main", "exec tail /dev/zero", { resources: { memoryLimit: 16 * 1024 * 1024 } });
    const container = await ended(await start(sandbox, config, pod));
    assert.equal(container.reason, "OOMKilled");
    assert.equal(container.exitCode, 137);
    await runtime.removeSandbox(sandbox);
  });

  test("a program that does not exist is told by its name", async () => {
    const pod = examplePod(containerd, "missing");
    const sandbox = await runtime.runSandbox(pod);
    const id = await runtime.createContainer(
      sandbox,
      exampleContainer("main", "", { command: ["/no-such"], args: [] }),
      pod,
    );
    await assert.rejects(runtime.startContainer(id), { code: "CRI_CALL_FAILED", message: /no-such/ });
    const container = await find(id);
    assert.equal(container?.state, "exited");
    assert.notEqual(container?.exitCode, 0);
    await runtime.removeSandbox(sandbox);
  });

  test("an end is told soon", async () => {
    const stop = new AbortController();
    const told: number[] = [];
    const pod = examplePod(containerd, "telling");
    const telling = (async () => {
      for await (const uid of runtime.changes(stop.signal)) if (uid === pod.pod.uid) told.push(Date.now());
    })();
    const sandbox = await runtime.runSandbox(pod);
    const lateness = async (name: string) => {
      const id = await start(sandbox, exampleContainer(name, "sleep 1; exit 5"), pod);
      const { finishedAt = 0 } = await ended(id);
      while (!told.some((time) => time >= finishedAt)) await sleep(systemClock, 10);
      return (told.find((time) => time >= finishedAt) ?? 0) - finishedAt;
    };
    const late = [await lateness("main")];
    // A machine that does other work as well adds to every time: what is soon enough once is soon enough.
    while (late.length < 5 && Math.min(...late) >= 400) late.push(await lateness(`again-${late.length}`));
    assert.ok(Math.min(...late) < 400, `told ${late.join(", ")} ms after it had ended`);
    await runtime.stopSandbox(sandbox);
    await runtime.removeSandbox(sandbox);
    stop.abort();
    await telling;
  });

  test("limits are set, and changed while it runs", async () => {
    const pod = examplePod(containerd, "limits", { resources: { cpuRequest: 500, memoryLimit: 96 * 1024 * 1024 } });
    const sandbox = await runtime.runSandbox(pod);
    const resources = { cpuRequest: 250, cpuLimit: 500, memoryLimit: 32 * 1024 * 1024 };
    const id = await start(sandbox, exampleContainer("main", "exec sleep 1000", { resources }), pod);
    assert.equal(await setting(pod.cgroupParent, "memory.limit_in_bytes", "memory.max"), `${96 * 1024 * 1024}`);
    assert.equal(
      await setting(`${pod.cgroupParent}/${id}`, "memory.limit_in_bytes", "memory.max"),
      `${32 * 1024 * 1024}`,
    );
    await runtime.updateResources(id, { ...resources, cpuLimit: 750, memoryLimit: 48 * 1024 * 1024 });
    assert.equal(
      await setting(`${pod.cgroupParent}/${id}`, "memory.limit_in_bytes", "memory.max"),
      `${48 * 1024 * 1024}`,
    );
    assert.match((await setting(`${pod.cgroupParent}/${id}`, "cpu.cfs_quota_us", "cpu.max")) ?? "", /^75000/);
    await runtime.resizeSandbox(sandbox, { ...pod, resources: { cpuRequest: 500, cpuLimit: 2000 } });
    assert.match((await setting(pod.cgroupParent, "cpu.cfs_quota_us", "cpu.max")) ?? "", /^200000/);
    assert.notEqual(await setting(pod.cgroupParent, "memory.limit_in_bytes", "memory.max"), `${96 * 1024 * 1024}`);
    await runtime.updateResources(id, { cpuRequest: 250 });
    assert.match((await setting(`${pod.cgroupParent}/${id}`, "cpu.cfs_quota_us", "cpu.max")) ?? "", /^(-1|max)/);
    await runtime.removeSandbox(sandbox);
  });

  const setting = async (group: string, ...files: string[]): Promise<string | undefined> => {
    for (const { directory } of containerd.cgroups) {
      for (const file of files) {
        const path = join(directory, group, file);
        if (existsSync(path)) return (await readFile(path, "utf8")).trim();
      }
    }
    return undefined;
  };

  test("a container runs as whom it is told to, with what it may", async () => {
    const script = 'id; grep -E "^(CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; touch /x 2>&1';
    const lines = await outputOf("nobody", {
      script,
      security: {
        ...plainSecurity,
        runAsUser: 65534,
        runAsGroup: 3000,
        supplementalGroups: [4000],
        noNewPrivileges: true,
        readOnlyRootFilesystem: true,
        dropCapabilities: ["ALL"],
        addCapabilities: ["CAP_NET_BIND_SERVICE"],
      },
    });
    assert.match(lines.join("\n"), /uid=65534 gid=3000 groups=3000,4000/);
    assert.match(lines.join("\n"), /CapBnd:\s+0000000000000400/);
    assert.match(lines.join("\n"), /NoNewPrivs:\s+1/);
    assert.match(lines.join("\n"), /Seccomp:\s+2/);
    assert.match(lines.join("\n"), /Read-only file system/);
  });

  test("an unconfined container is, and sees what others do not", async () => {
    const script = 'grep -E "^Seccomp:" /proc/self/status; cat /proc/timer_list | wc -l';
    const confined = await outputOf("confined", { script });
    const security = { ...plainSecurity, seccomp: { type: "Unconfined" }, unmaskedProc: true } as const;
    const open = await outputOf("open", { script, security });
    assert.match(confined[0] ?? "", /2$/);
    assert.equal(confined[1], "0");
    assert.match(open[0] ?? "", /0$/);
    assert.notEqual(open[1], "0");
  });

  test("namespaces are shared as the pod says", async () => {
    const apart = await outputOf("apart", { script: "ps | wc -l; hostname" });
    const shared = await outputOf(
      "together",
      { script: 'ps | grep -c "[s]leep 86400"; hostname' },
      { namespaces: { hostNetwork: false, hostPid: false, hostIpc: false, sharedPid: true, hostUsers: true } },
    );
    assert.deepEqual(apart[1], "apart");
    assert.ok(Number(shared[0]) >= 1, "the other containers are not to be seen");
  });

  test("environment, working directory, mounts and DNS are the pod's", async () => {
    const lines = await outputOf(
      "settings",
      {
        script: 'echo "$GREETING"; pwd; cat /mnt/containerd.toml | head -n 1; touch /mnt/x 2>&1; cat /etc/resolv.conf',
        environment: [{ name: "GREETING", value: "høi" }],
        workingDirectory: "/tmp",
        mounts: [{ hostPath: containerd.directory, containerPath: "/mnt", readOnly: true }],
      },
      { dns: { servers: ["10.1.2.3"], searches: ["svc.test"], options: ["ndots:5"] } },
    );
    assert.deepEqual(lines.slice(0, 3), ["høi", "/tmp", "version = 2"]);
    assert.match(lines.join("\n"), /Read-only file system/);
    assert.match(lines.join("\n"), /nameserver 10\.1\.2\.3/);
    assert.match(lines.join("\n"), /ndots:5/);
  });

  test("a log goes on in a new file once the old one was renamed", async () => {
    const pod = examplePod(containerd, "log");
    const sandbox = await runtime.runSandbox(pod);
    const id = await start(
      sandbox,
      exampleContainer("main", "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done"),
      pod,
    );
    const file = (await find(id))?.logFile ?? "";
    await rename(file, `${file}.1`);
    await runtime.reopenLog(id);
    await runtime.stopContainer(id, 0);
    const count = async (path: string) =>
      (await readFile(path, "utf8"))
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => Number(line.split(" ")[3]));
    const all = [...(await count(`${file}.1`)), ...(await count(file))];
    assert.deepEqual(
      all,
      all.map((_, i) => i + 1),
      "lines were lost",
    );
    await runtime.removeSandbox(sandbox);
  });

  test("usage is measured", async () => {
    const pod = examplePod(containerd, "usage");
    const sandbox = await runtime.runSandbox(pod);
    const id = await start(sandbox, exampleContainer("main", "echo x > /file; while :; do :; done"), pod);
    for (;;) {
      const { sandboxes, containers } = await runtime.stats();
      const measured = containers.find((container) => container.id === id);
      if ((measured?.usage.cpuNanoseconds ?? 0) < 50_000_000) {
        await sleep(systemClock, 50);
        continue;
      }
      assert.equal(measured?.name, "main");
      assert.deepEqual(measured?.pod, pod.pod);
      assert.ok((measured?.usage.workingSetBytes ?? 0) > 0);
      const whole = sandboxes.find((each) => each.id === sandbox);
      assert.equal(whole?.network?.[0]?.name, "eth0");
      assert.ok(Number.isInteger(whole?.network?.[0]?.receivedBytes));
      break;
    }
    await runtime.removeSandbox(sandbox);
  });

  test("images are listed, found, and removed", async () => {
    const found = await runtime.images.status(testImages.user);
    assert.equal(found?.uid, 1000);
    assert.deepEqual(found?.tags, [testImages.user]);
    assert.equal(await runtime.images.status("fjord.test/none:1"), undefined);
    assert.ok((await runtime.images.list()).some((image) => image.tags.includes(testImages.busybox)));
    await assert.rejects(runtime.images.pull("fjord.invalid/none:1", []), { code: "CRI_CALL_FAILED" });
    assert.match((await runtime.images.fileSystem()).mountpoint, /overlayfs$/);
    await runtime.images.remove(found?.id ?? "");
    await runtime.images.remove(found?.id ?? "");
    assert.equal(await runtime.images.status(testImages.user), undefined);
  });

  test("nothing is left of any pod's control groups", () => {
    for (const { directory } of containerd.cgroups) {
      const path = join(directory, containerd.cgroup, "kubepods");
      const left = existsSync(path)
        ? readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory())
        : [];
      assert.deepEqual(
        left.map((entry) => entry.name),
        [],
        directory,
      );
    }
  });
});
