import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ContainerConfig, SandboxConfig, SecurityConfig } from "../../runtime/configuration.ts";
import type { RuntimeContainer } from "../../runtime/runtime.ts";
import { openCgroups } from "./cgroups.ts";
import { ProcessRuntime, type ProcessRuntimeOptions } from "./process-runtime.ts";
import { type MarkedProcess, type ProcessIdentity, readProc, readStat, scanProcesses } from "./process-table.ts";

/** Shared by all tests; whoever is last removes it. */
const CGROUP_ROOT = "/fjord-process-test";

export const plainSecurity: SecurityConfig = {
  supplementalGroups: [],
  privileged: false,
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
  addCapabilities: [],
  dropCapabilities: [],
  seccomp: { type: "RuntimeDefault" },
  appArmor: { type: "RuntimeDefault" },
  unmaskedProc: false,
};

export function sandboxConfig(state: string, changes: Partial<SandboxConfig> = {}): SandboxConfig {
  const uid = changes.pod?.uid ?? randomUUID();
  return {
    pod: { uid, namespace: "default", name: `pod-${uid.slice(0, 8)}` },
    attempt: 0,
    labels: {},
    annotations: {},
    hostname: "pod-host",
    logDirectory: join(state, "logs", uid),
    podDirectory: join(state, "pods", uid),
    ports: [],
    runtimeHandler: "process",
    cgroupParent: `${CGROUP_ROOT}/pod${uid}`,
    namespaces: { hostNetwork: false, hostPid: false, hostIpc: false, sharedPid: false, hostUsers: true },
    sysctls: {},
    security: plainSecurity,
    ...changes,
  };
}

export function containerConfig(command: readonly string[], changes: Partial<ContainerConfig> = {}): ContainerConfig {
  const name = changes.name ?? "main";
  const attempt = changes.attempt ?? 0;
  return {
    name,
    attempt,
    image: "label:1",
    imageId: "",
    command,
    args: [],
    workingDirectory: "",
    environment: [],
    mounts: [],
    labels: {},
    annotations: {},
    logPath: `${name}/${attempt}.log`,
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources: {},
    security: plainSecurity,
    ...changes,
  };
}

export const shell = (script: string): string[] => ["sh", "-c", script];

/** A runtime on a state directory of its own, for one test. */
export class ProcessBench {
  readonly state = mkdtempSync(join(tmpdir(), "fjord-process-"));
  readonly #options: Partial<ProcessRuntimeOptions>;
  readonly pods: SandboxConfig[] = [];
  runtime!: ProcessRuntime;

  private constructor(options: Partial<ProcessRuntimeOptions>) {
    this.#options = options;
  }

  static async open(options: Partial<ProcessRuntimeOptions> = {}): Promise<ProcessBench> {
    const bench = new ProcessBench(options);
    await bench.reopen();
    return bench;
  }

  /** As after a restart of the node. */
  async reopen(): Promise<void> {
    this.runtime?.close();
    this.runtime = await ProcessRuntime.open({ stateDirectory: this.state, ...this.#options });
  }

  async sandbox(changes: Partial<SandboxConfig> = {}): Promise<{ id: string; pod: SandboxConfig }> {
    const pod = sandboxConfig(this.state, changes);
    mkdirSync(pod.podDirectory, { recursive: true });
    this.pods.push(pod);
    return { id: await this.runtime.runSandbox(pod), pod };
  }

  /** A pod with one container, started. */
  async start(
    command: readonly string[],
    changes: Partial<ContainerConfig> = {},
    podChanges: Partial<SandboxConfig> = {},
  ) {
    const { id: sandbox, pod } = await this.sandbox(podChanges);
    const id = await this.runtime.createContainer(sandbox, containerConfig(command, changes), pod);
    await this.runtime.startContainer(id);
    return { sandbox, pod, id };
  }

  async container(id: string): Promise<RuntimeContainer> {
    const all = (await this.runtime.list()).flatMap((sandbox) => sandbox.containers);
    const found = all.find((container) => container.id === id);
    if (!found) throw new Error(`no container ${id}`);
    return found;
  }

  async ended(id: string): Promise<RuntimeContainer> {
    return until(async () => {
      const container = await this.container(id);
      return container.state === "exited" ? container : undefined;
    }, `end of container ${id}`);
  }

  log(container: RuntimeContainer): string[] {
    return existsSync(container.logFile) ? logLines(readFileSync(container.logFile, "utf8")) : [];
  }

  hasLog(container: RuntimeContainer, line: string): boolean {
    return this.log(container).includes(line);
  }

  /** Whatever still carries the marks of this bench's pods. */
  processes(): MarkedProcess[] {
    const uids = new Set(this.pods.map((pod) => pod.pod.uid));
    return scanProcesses().filter((each) => each.pod !== undefined && uids.has(each.pod));
  }

  async close(): Promise<void> {
    for (const sandbox of await this.runtime.list()) await this.runtime.removeSandbox(sandbox.id);
    this.runtime.close();
    rmSync(this.state, { recursive: true, force: true });
    removeTestGroups();
  }
}

/** `stdout hello`: records without their time. */
export function logLines(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.replace(/^\S+ (\S+) \S /, "$1 "));
}

export async function until<T>(
  find: () => Promise<T | undefined | false> | T | undefined | false,
  what: string,
): Promise<T> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await delay(10)) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`waited in vain for ${what}`);
}

/** Processes of this machine that sleep that long, whoever's they are. */
export function sleepers(seconds: string): ProcessIdentity[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || readProc(`/proc/${name}/cmdline`) !== `sleep\0${seconds}\0`) return [];
    return readStat(Number(name)) ?? [];
  });
}

export function removeTestGroups(): void {
  const cgroups = openCgroups();
  if (typeof cgroups === "string" || cgroups.processes(CGROUP_ROOT).length > 0) return;
  cgroups.removeEmpty(CGROUP_ROOT);
}
