import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { type Clock, type Logger, silentLogger, systemClock } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { type Container, firstContainers } from "../../environment/pod-containers.ts";
import type { LocalPod, PodProcess } from "../../local-clients/index.ts";
import type { ContainerConfig, SandboxConfig } from "../../runtime/configuration.ts";
import type { ContainerResources } from "../../runtime/resources.ts";
import type {
  ExecSyncResult,
  Runtime,
  RuntimeHealth,
  RuntimeSandbox,
  RuntimeVersion,
  Verdict,
} from "../../runtime/runtime.ts";
import type { ContainerStats, SandboxStats } from "../../runtime/stats.ts";
import type { CommandStreams } from "../../stream/command-streams.ts";
import { FJORD_VERSION } from "../../version.ts";
import { Addresses, splitRange } from "./addresses.ts";
import { attachTo } from "./attach.ts";
import { type Cgroups, openCgroups } from "./cgroups.ts";
import { ChangeFeed } from "./change-feed.ts";
import { type CommandPlace, runCommand, runShortCommand } from "./container-command.ts";
import { type MachineAbilities, setUpContainer } from "./container-setup.ts";
import { isDiskFull, removeTree } from "./files.ts";
import { notesOn } from "./notes.ts";
import { objectionFacts, objectionsTo, objectionsToContainer } from "./objections.ts";
import { forwardPort } from "./port-forward.ts";
import { ownBoundingSet } from "./privileges.ts";
import { ProcessSandboxes } from "./process-sandboxes.ts";
import { statsOf } from "./process-stats.ts";
import { Reaper } from "./reaper.ts";
import { Records, type SandboxRecord } from "./records.ts";
import { detectMountNamespace, type MountNamespace, tool } from "./tools.ts";
import { kernelUnits } from "./usage.ts";

export interface ProcessRuntimeOptions {
  /** The node's; everything of this runtime is in `process/` below it. */
  readonly stateDirectory: string;
  /** Addresses for pods, inside 127.0.0.0/8. @default "127.88.0.0/16" */
  readonly podRange?: string;
  /** @default what the machine permits */
  readonly mountNamespace?: MountNamespace;
  /** False: no control groups, even where they are permitted. @default true */
  readonly controlGroups?: boolean;
  readonly version?: string;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** @default random */
  readonly newId?: () => string;
}

/** Runs pods as plain processes of this machine, as root or not. One process at a time may use a state directory. */
export class ProcessRuntime implements Runtime {
  readonly #options: ProcessRuntimeOptions;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly loopbackRange: string;
  readonly standInRange?: string;
  readonly #records: Records;
  readonly #addresses: Addresses;
  readonly #abilities: MachineAbilities;
  readonly #cgroups: Cgroups | undefined;
  readonly #withoutCgroups: string | undefined;
  readonly #reaper: Reaper;
  readonly #feed = new ChangeFeed();
  readonly #sandboxes: ProcessSandboxes;
  readonly #units = kernelUnits();
  /** Commands that run in containers, by the process that each descends from; and their sandboxes. */
  readonly #commands = new Map<number, string>();

  private constructor(options: ProcessRuntimeOptions, abilities: MachineAbilities) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
    this.#clock = options.clock ?? systemClock;
    this.#abilities = abilities;
    this.#records = new Records(join(options.stateDirectory, "process"));
    const { pods, standIns } = splitRange(options.podRange ?? "127.88.0.0/16");
    this.loopbackRange = pods;
    if (standIns !== undefined) this.standInRange = standIns;
    this.#addresses = new Addresses(this.loopbackRange);
    const cgroups = options.controlGroups === false ? "control groups are turned off" : openCgroups();
    this.#cgroups = typeof cgroups === "string" ? undefined : cgroups;
    this.#withoutCgroups = typeof cgroups === "string" ? cgroups : undefined;
    this.#reaper = new Reaper(this.#cgroups, this.#clock);
    this.#sandboxes = new ProcessSandboxes({
      records: this.#records,
      ...(this.#cgroups ? { cgroups: this.#cgroups } : {}),
      reaper: this.#reaper,
      clock: this.#clock,
      logger: this.#logger,
      onChange: (podUid) => this.#feed.emit(podUid),
    });
  }

  /** Finds out what the machine permits, and takes up what an earlier process has left running. */
  static async open(options: ProcessRuntimeOptions): Promise<ProcessRuntime> {
    const root = process.geteuid?.() === 0;
    const namespace = options.mountNamespace ?? (await detectMountNamespace(root));
    const runtime = new ProcessRuntime(options, { root, namespace, bounding: ownBoundingSet() });
    await runtime.#sandboxes.load();
    for (const { record } of runtime.#sandboxes.all()) {
      if (record.address !== undefined) runtime.#addresses.claim(record.address, record.id);
    }
    return runtime;
  }

  /** Stops watching when the signal aborts; pods go on. */
  async run(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    this.close();
  }

  close(): void {
    this.#sandboxes.close();
  }

  async version(): Promise<RuntimeVersion> {
    return { name: "process", version: this.#options.version ?? FJORD_VERSION };
  }

  async health(): Promise<RuntimeHealth> {
    try {
      for (const name of ["sh", "cat", "mkfifo", "env", "sleep"]) tool(name, "run pods");
      return { ready: true };
    } catch (error) {
      return { ready: false, message: (error as Error).message };
    }
  }

  objections(pod: Pod): string[] {
    return objectionsTo(pod, objectionFacts(this.#abilities));
  }

  /** What of the pod is honoured less than asked for, a sentence for each; told to its owner as a warning. */
  notes(pod: Pod): string[] {
    return notesOn(pod, firstContainers(pod), this.#withoutCgroups);
  }

  judgeEphemeral(pod: Pod, container: Container): Verdict {
    const objections = objectionsToContainer(pod, container, objectionFacts(this.#abilities));
    return { objections, notes: notesOn(pod, [container], this.#withoutCgroups) };
  }

  /** The processes that those of pods descend from, each with its pod. */
  *podProcesses(): Generator<PodProcess> {
    for (const [pid, sandbox] of this.#commands) {
      const found = this.#sandboxes.find(sandbox);
      if (found !== undefined) yield { pid, pod: podOf(found.record) };
    }
    for (const { record, containers } of this.#sandboxes.all())
      for (const container of containers.values()) {
        const keeper = container.keeper();
        if (keeper !== undefined) yield { pid: keeper.pid, pod: podOf(record) };
      }
  }

  list(): Promise<RuntimeSandbox[]> {
    return this.#sandboxes.list();
  }

  changes(signal: AbortSignal): AsyncIterable<string> {
    return this.#feed.follow(signal);
  }

  async runSandbox(config: SandboxConfig): Promise<string> {
    const id = this.#newId();
    const address = config.namespaces.hostNetwork ? undefined : this.#addresses.allocate(id);
    const cgroup = this.#cgroups && config.cgroupParent !== "" ? config.cgroupParent : undefined;
    const record: SandboxRecord = {
      id,
      pod: config.pod,
      attempt: config.attempt,
      createdAt: this.#clock.now(),
      boot: this.#sandboxes.boot,
      ...(address === undefined ? {} : { address }),
      annotations: config.annotations,
      ...(cgroup === undefined ? {} : { cgroup }),
    };
    try {
      this.#records.writeSandbox(record);
    } catch (error) {
      if (address !== undefined) this.#addresses.release(address, id);
      await this.#records.removeSandbox(id);
      throw error;
    }
    this.#sandboxes.add(record);
    if (this.#cgroups && cgroup !== undefined) {
      this.#warn(config, this.#cgroups.ensure(cgroup, config.resources ?? {}));
      const keepers = this.#cgroups.keeperGroup(cgroup);
      if (keepers !== cgroup) this.#cgroups.ensure(keepers, {});
    }
    return id;
  }

  async stopSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.find(id);
    if (!sandbox) return;
    await Promise.all([...sandbox.containers.values()].map((container) => container.stop(0)));
    const { address, ...record } = sandbox.record;
    sandbox.record = { ...record, stoppedAt: record.stoppedAt ?? this.#clock.now() };
    try {
      this.#records.writeSandbox(sandbox.record);
    } catch (error) {
      // Whoever starts from the older record stops it again.
      if (!isDiskFull(error)) throw error;
      this.#logger.warn("cannot note that a sandbox was stopped: the disk is full", { sandbox: id });
    }
    if (address !== undefined) this.#addresses.release(address, id);
    this.#feed.emit(record.pod.uid);
  }

  async removeSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.find(id);
    if (!sandbox) return;
    await this.stopSandbox(id);
    await Promise.all([...sandbox.containers.keys()].map((each) => this.removeContainer(each)));
    const { cgroup, pod } = sandbox.record;
    if (this.#cgroups && cgroup !== undefined && !this.#sandboxes.shares(sandbox)) await this.#removeGroup(cgroup);
    await this.#sandboxes.remove(id);
    this.#feed.emit(pod.uid);
  }

  async createContainer(sandboxId: string, config: ContainerConfig, pod: SandboxConfig): Promise<string> {
    const sandbox = this.#sandboxes.get(sandboxId, `create container ${config.name}`);
    const id = this.#newId();
    const directory = this.#records.containerDirectory(sandboxId, id);
    mkdirSync(directory, { mode: 0o700 });
    try {
      const parent = sandbox.record.cgroup;
      const cgroup = parent === undefined ? undefined : join(parent, id);
      if (this.#cgroups && cgroup !== undefined) this.#warn(pod, this.#cgroups.ensure(cgroup, config.resources));
      const { address } = sandbox.record;
      const record = setUpContainer({
        id,
        createdAt: this.#clock.now(),
        directory,
        sandboxDirectory: this.#records.sandboxDirectory(sandboxId),
        config,
        pod,
        ...(address === undefined ? {} : { address }),
        ...(cgroup === undefined ? {} : { cgroup }),
        keeperGroups: this.#entries(parent === undefined ? undefined : this.#cgroups?.keeperGroup(parent)),
        containerGroups: this.#entries(cgroup),
        abilities: this.#abilities,
      });
      this.#records.writeContainer(sandboxId, record);
      this.#sandboxes.addContainer(sandbox, record);
    } catch (error) {
      await removeTree(directory);
      throw error;
    }
    return id;
  }

  async startContainer(id: string): Promise<void> {
    await this.#sandboxes.container(id, "start it").start();
  }

  async stopContainer(id: string, graceSeconds: number, signal?: AbortSignal): Promise<void> {
    await this.#sandboxes.findContainer(id)?.stop(graceSeconds, signal);
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#sandboxes.findContainer(id);
    if (!container) return;
    await container.remove();
    await this.#sandboxes.removeContainer(container);
  }

  async updateResources(id: string, resources: ContainerResources): Promise<void> {
    const container = this.#sandboxes.container(id, "change its resources");
    const merged = { ...container.record.resources, ...resources };
    container.record = { ...container.record, resources: merged };
    this.#records.writeContainer(container.options.sandbox, container.record);
    if (this.#cgroups && container.record.cgroup !== undefined) this.#cgroups.ensure(container.record.cgroup, merged);
  }

  async exec(id: string, command: readonly string[], streams: CommandStreams, signal?: AbortSignal): Promise<number> {
    return runCommand(this.#place(id, "run a command"), command, streams, signal);
  }

  async execSync(id: string, command: readonly string[], timeoutMs: number): Promise<ExecSyncResult> {
    return runShortCommand(this.#place(id, "run a command"), command, timeoutMs);
  }

  async attach(id: string, streams: CommandStreams, signal?: AbortSignal): Promise<void> {
    await attachTo(this.#sandboxes.container(id, "attach to it"), streams, signal);
  }

  async portForward(sandboxId: string, port: number, stream: Duplex, signal?: AbortSignal): Promise<void> {
    const { address } = this.#sandboxes.get(sandboxId, `forward port ${port}`).record;
    await forwardPort([...(address === undefined ? [] : [address]), "127.0.0.1"], port, stream, signal);
  }

  async reopenLog(id: string): Promise<void> {
    this.#sandboxes.container(id, "reopen its log").reopenLog();
  }

  async stats(): Promise<{ sandboxes: SandboxStats[]; containers: ContainerStats[] }> {
    return statsOf({
      sandboxes: this.#sandboxes.all(),
      processes: await this.#reaper.scan(),
      ...(this.#cgroups ? { cgroups: this.#cgroups } : {}),
      boot: this.#sandboxes.boot,
      now: this.#clock.now(),
      units: this.#units,
    });
  }

  #place(id: string, action: string): CommandPlace {
    const container = this.#sandboxes.container(id, action);
    return {
      container,
      podUid: container.options.podUid,
      namespace: this.#abilities.namespace,
      groups: this.#entries(container.record.cgroup),
      clock: this.#clock,
      began: (child) => this.#noteCommand(child, container.options.sandbox),
    };
  }

  #noteCommand(child: ChildProcess, sandbox: string): void {
    const { pid } = child;
    if (pid === undefined) return;
    this.#commands.set(pid, sandbox);
    child.once("exit", () => this.#commands.delete(pid));
  }

  #entries(cgroup: string | undefined): string[] {
    return this.#cgroups && cgroup !== undefined ? this.#cgroups.entries(cgroup) : [];
  }

  async #removeGroup(cgroup: string): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      if (this.#cgroups?.remove(cgroup)) return;
      await this.#reaper.kill({ matches: () => false, cgroup });
    }
    this.#logger.warn("cannot remove a control group", { cgroup });
  }

  #warn(pod: SandboxConfig, notes: readonly string[]): void {
    for (const note of notes) this.#logger.warn("a limit is not enforced", { pod: pod.pod, note });
  }

  #newId(): string {
    return this.#options.newId?.() ?? randomBytes(16).toString("hex");
  }
}

function podOf({ pod: { uid, namespace, name }, address }: SandboxRecord): LocalPod {
  return { uid, namespace, name, ...(address !== undefined && { address }) };
}
