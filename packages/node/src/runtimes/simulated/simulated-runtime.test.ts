import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { ContainerConfig, SandboxConfig } from "../../runtime/index.ts";
import { SimulatedRuntime } from "./simulated-runtime.ts";

const security = {
  supplementalGroups: [],
  privileged: false,
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
  addCapabilities: [],
  dropCapabilities: [],
  seccomp: { type: "RuntimeDefault" as const },
  appArmor: { type: "RuntimeDefault" as const },
  unmaskedProc: false,
};

describe("the simulated runtime", () => {
  let directory: string;
  let clock: ManualClock;
  let runtime: SimulatedRuntime;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-simulated-"));
    clock = new ManualClock();
    runtime = await open();
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  const open = () => SimulatedRuntime.open({ file: join(directory, "simulated.json"), clock, logger: silentLogger });

  const sandboxOf = (annotations: Record<string, string> = {}): SandboxConfig => ({
    pod: { uid: "u1", namespace: "default", name: "web" },
    attempt: 0,
    labels: {},
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [`simulated.fjord.dev/${name}`, value]),
    ),
    hostname: "web",
    logDirectory: join(directory, "logs"),
    podDirectory: join(directory, "pod"),
    ports: [],
    runtimeHandler: "",
    cgroupParent: "/",
    namespaces: { hostNetwork: false, hostPid: false, hostIpc: false, sharedPid: false, hostUsers: true },
    sysctls: {},
    security,
  });

  const container: ContainerConfig = {
    name: "web",
    attempt: 0,
    image: "web:1",
    imageId: "",
    command: [],
    args: [],
    workingDirectory: "",
    environment: [],
    mounts: [],
    labels: {},
    annotations: {},
    logPath: "web/0.log",
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources: { cpuRequest: 250, memoryRequest: 2 ** 26 },
    security,
  };

  const started = async (annotations: Record<string, string> = {}) => {
    const config = sandboxOf(annotations);
    const sandbox = await runtime.runSandbox(config);
    const id = await runtime.createContainer(sandbox, container, config);
    await runtime.startContainer(id);
    return { sandbox, id };
  };

  const state = async () => {
    const [sandbox] = await runtime.list();
    const [first] = sandbox?.containers ?? [];
    return [sandbox?.state, first?.state, first?.exitCode];
  };

  test("lets containers end when their time comes, and tells of it", async () => {
    const end = new AbortController();
    const changes = runtime.changes(end.signal)[Symbol.asyncIterator]();
    const change = changes.next();
    await started({ "exit-after": "10s", "exit-code": "4" });
    assert.deepEqual(await change, { done: false, value: "u1" });
    assert.deepEqual(await state(), ["ready", "running", undefined]);
    await clock.advance(9_999);
    assert.deepEqual(await state(), ["ready", "running", undefined]);
    await clock.advance(1);
    assert.deepEqual(await state(), ["ready", "exited", 4]);
    end.abort();
  });

  test("another process finds what the first had, and what has ended meanwhile", async () => {
    const { id } = await started({ "exit-after": "10s" });
    await runtime.close();
    await clock.advance(5_000);
    runtime = await open();
    const [before] = await runtime.list();
    assert.deepEqual([before?.containers[0]?.id, before?.containers[0]?.state], [id, "running"]);
    await runtime.close();
    await clock.advance(60_000);
    runtime = await open();
    const [after] = await runtime.list();
    const [ended] = after?.containers ?? [];
    assert.equal((ended?.finishedAt ?? 0) - (ended?.startedAt ?? 0), 10_000);
  });

  test("stops containers in their time, and gives addresses back", async () => {
    const { sandbox, id } = await started({ "stop-delay": "5s", "stop-exit-code": "143" });
    const stopping = runtime.stopContainer(id, 30);
    await clock.advance(4_000);
    assert.deepEqual(await state(), ["ready", "running", undefined]);
    await clock.advance(1_000);
    await stopping;
    assert.deepEqual(await state(), ["ready", "exited", 143]);
    const [{ addresses } = { addresses: [] }] = await runtime.list();
    assert.match(addresses[0] ?? "", /^10\.64\./);
    await runtime.stopSandbox(sandbox);
    assert.deepEqual(await state(), ["notReady", "exited", 143]);
    await runtime.removeSandbox(sandbox);
    await runtime.removeSandbox(sandbox);
    await runtime.stopContainer(id, 0);
    assert.deepEqual(await runtime.list(), []);
  });

  test("fails where it was told to", async () => {
    const broken = sandboxOf({ "sandbox-error": "no network" });
    await assert.rejects(runtime.runSandbox(broken), { message: "no network" });
    const config = sandboxOf({ "pull-error": "not found" });
    const sandbox = await runtime.runSandbox(config);
    const refused = runtime.createContainer(sandbox, container, config);
    await assert.rejects(refused, {
      reason: "ErrImagePull",
      later: { reason: "ImagePullBackOff", message: 'Back-off pulling image "web:1": not found' },
    });
  });

  test("runs no command, and says which one it would", async () => {
    const { id } = await started({ "exec-exit-code": "3" });
    const stdout = new PassThrough();
    const code = await runtime.exec(id, ["ls", "-l"], { stdout, tty: false });
    assert.equal(code, 3);
    assert.match(await text(stdout), /nothing runs in container web; the command would be \["ls","-l"\]/);
  });

  test("has a log, usage, and answers to probes", async () => {
    await started({ log: "hello\nworld", "ready-delay": "5s" });
    const log = await readFile(join(directory, "logs/web/0.log"), "utf8");
    assert.match(log, /^2030-01-01T00:00:00\.\d+Z stdout F hello\n2030-01-01T\S+ stdout F world\n$/);
    await clock.advance(4_000);
    const { containers } = await runtime.stats();
    assert.equal(containers[0]?.usage.cpuNanoseconds, 1e9);
    assert.equal(containers[0]?.usage.workingSetBytes, 2 ** 26);
    const [{ containers: listed } = { containers: [] }] = await runtime.list();
    const id = listed[0]?.id ?? "";
    assert.equal((await runtime.probe(id, "Readiness")).outcome, "failure");
    assert.equal((await runtime.probe(id, "Liveness")).outcome, "success");
    await clock.advance(1_000);
    assert.equal((await runtime.probe(id, "Readiness")).outcome, "success");
  });
});
