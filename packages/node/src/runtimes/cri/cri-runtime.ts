import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { Backoff, type Clock, type Logger, type Random, silentLogger, systemClock } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { Container } from "../../environment/pod-containers.ts";
import { machineCapabilities } from "../../machine/capabilities.ts";
import type {
  ContainerConfig,
  ContainerResources,
  ContainerStats,
  ExecSyncResult,
  Runtime,
  RuntimeHealth,
  RuntimeSandbox,
  RuntimeVersion,
  SandboxConfig,
  SandboxStats,
  Verdict,
} from "../../runtime/index.ts";
import type { CommandStreams } from "../../stream/command-streams.ts";
import { cgroupDriverOf } from "./cgroup-driver.ts";
import { type CgroupDriver, cgroupDirectory, cgroupParentName } from "./cgroup-parent.ts";
import { ChangeWatch } from "./change-watch.ts";
import { ContainerStarts } from "./container-starts.ts";
import { CriClient } from "./cri-client.ts";
import { CriImages } from "./cri-images.ts";
import { CriStats } from "./cri-stats.ts";
import { CriCallFailed, CriGroupBusy, CriStillRuns } from "./errors.ts";
import { execSync } from "./exec-sync.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { HeldOutputs } from "./held-outputs.ts";
import { updatedResources } from "./linux-resources.ts";
import { hasAppArmor, hasSeLinux } from "./machine-security.ts";
import { configurationObjection, containerObjections, podObjections, type RuntimeAbilities } from "./objections.ts";
import { type CgroupMount, PodCgroups } from "./pod-cgroups.ts";
import { containerConfig, type MachineOptions, podSandboxConfig } from "./pod-config.ts";
import { PodLister } from "./pod-lister.ts";
import type { Init, Method } from "./proto/message.ts";
import { ContainerState, RuntimeService } from "./proto/messages.ts";
import { RuntimeEvents } from "./runtime-events.ts";
import type { CriStreams } from "./streaming/cri-streams.ts";
import type { Dial } from "./streaming/stream-server.ts";
import { Turns } from "./turns.ts";

export interface CriRuntimeOptions {
  /** Path of the runtime's unix socket. */
  readonly socket: string;
  /** The machine's hierarchies of control groups: `cgroupMounts(text of /proc/mounts)`. */
  readonly cgroups: readonly CgroupMount[];
  /** Folder that seccomp profiles named by pods lie in. @default "/var/lib/kubelet/seccomp" */
  readonly seccompDirectory?: string;
  /** Whether the machine has them: pods that ask for what it has not are refused. @default as this machine has them */
  readonly appArmor?: boolean;
  readonly seLinux?: boolean;
  /** @default the runtime's own, which it is asked for */
  readonly cgroupDriver?: CgroupDriver;
  /** How many sandboxes and containers are started at once. @default three for each processor */
  readonly parallelStarts?: number;
  /** How the runtime's streaming server is reached. @default over this machine's network */
  readonly dial?: Dial;
  /** Where it is noted which starts are under way, for the process after this one. @default nowhere */
  readonly startsDirectory?: string;
  /** Where output of containers is kept for the process after this one. @default nowhere */
  readonly keptDirectory?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Logger;
}

/** Where the pod's control group is recorded, so that it can be removed with the last sandbox. */
const CGROUP_ANNOTATION = "node.fjord.dev/cgroup-parent";

/** Runs pods by a container runtime that speaks CRI v1 on a unix socket: containerd, CRI-O. */
export class CriRuntime implements Runtime {
  readonly images: CriImages;
  readonly #options: CriRuntimeOptions;
  readonly #client: CriClient;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #outputs: HeldOutputs;
  readonly #lister: PodLister;
  readonly #watch: ChangeWatch;
  readonly #cgroups: PodCgroups;
  readonly #stats: CriStats;
  readonly #starts: ContainerStarts;
  /** A pod that has begun to start goes on before another begins. */
  readonly #turns: Turns;
  #driver: CgroupDriver | undefined;
  /** As far as `version` and `health` have told them. */
  #abilities: RuntimeAbilities;

  constructor(options: CriRuntimeOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLogger;
    this.#client = new CriClient({
      socket: options.socket,
      clock: this.#clock,
      onConnect: () => {
        this.#lister.lostEnds.doubt();
        return () => {};
      },
    });
    const { keptDirectory } = options;
    this.#outputs = new HeldOutputs({
      client: this.#client,
      clock: this.#clock,
      log: this.#log,
      ...(keptDirectory !== undefined && { keptDirectory }),
    });
    this.#lister = new PodLister(this.#client, { outputs: this.#outputs, clock: this.#clock, log: this.#log });
    const backoff = new Backoff({ initial: 500, max: 30_000, random: options.random ?? Math.random });
    const events = new RuntimeEvents({ client: this.#client, clock: this.#clock, log: this.#log, backoff });
    this.#watch = new ChangeWatch({
      lister: this.#lister,
      events,
      clock: this.#clock,
      onTold: (id) => this.#outputs.gather(id),
    });
    this.#cgroups = new PodCgroups(options.cgroups, this.#clock);
    this.#stats = new CriStats(this.#client, this.#lister);
    const limit = options.parallelStarts ?? 3 * availableParallelism();
    this.#turns = new Turns({ limit, patience: START_PATIENCE, clock: this.#clock });
    const directory = options.startsDirectory;
    this.#starts = new ContainerStarts({
      socket: options.socket,
      clock: this.#clock,
      log: this.#log,
      ...(directory !== undefined && { directory }),
    });
    this.images = new CriImages(this.#client);
    this.#driver = options.cgroupDriver;
    const { appArmor = hasAppArmor(), seLinux = hasSeLinux() } = options;
    this.#abilities = { appArmor, seLinux, capabilities: machineCapabilities() };
  }

  async version(signal?: AbortSignal): Promise<RuntimeVersion> {
    const options = { action: "ask the runtime for its version", timeout: HEALTH_TIMEOUT, ...(signal && { signal }) };
    const answer = await this.#client.call(RuntimeService.version, {}, options);
    const version = { name: answer.runtimeName, version: answer.runtimeVersion };
    this.#abilities = { ...this.#abilities, version };
    return version;
  }

  async health(signal?: AbortSignal): Promise<RuntimeHealth> {
    const options = { action: "ask the runtime for its status", timeout: HEALTH_TIMEOUT, ...(signal && { signal }) };
    const answer = await this.#client.call(RuntimeService.status, {}, options);
    const { status, features, runtimeHandlers } = answer;
    this.#abilities = {
      ...this.#abilities,
      strictSupplementalGroups: features?.supplementalGroupsPolicy ?? false,
      recursiveReadOnly: runtimeHandlers.some(({ name, features }) => name === "" && features?.recursiveReadOnlyMounts),
    };
    const failing = (status?.conditions ?? []).filter(
      ({ type, status: holds }) => (type === "RuntimeReady" || type === "NetworkReady") && !holds,
    );
    if (failing.length === 0) return { ready: true };
    const message = failing.map(({ type, reason, message }) => `${type}=false: ${reason}: ${message}`).join("; ");
    return { ready: false, message: `container runtime is not ready: ${message}` };
  }

  objections(pod: Pod): string[] {
    return podObjections(pod, this.#abilities);
  }

  judgeEphemeral(_: Pod, container: Container): Verdict {
    return { objections: containerObjections(container, this.#abilities), notes: [] };
  }

  async list(signal?: AbortSignal): Promise<RuntimeSandbox[]> {
    await this.#starts.settled(signal);
    return await this.#lister.list(signal);
  }

  async *changes(signal: AbortSignal): AsyncIterable<string> {
    await this.#starts.settled(signal);
    try {
      yield* this.#watch.changes(signal);
    } catch (error) {
      this.#outputs.awaitRuntime();
      throw error;
    }
  }

  async runSandbox(config: SandboxConfig, signal?: AbortSignal): Promise<string> {
    const machine = await this.#machine(signal);
    const action = `make a sandbox for pod ${nameOf(config)}`;
    this.#refuse(config, action);
    const directory = cgroupDirectory(config.cgroupParent, machine.driver);
    await mkdir(config.logDirectory, { recursive: true });
    if (config.resources !== undefined) await this.#cgroups.prepare(directory, config.resources);
    const recorded = { ...config, annotations: { ...config.annotations, [CGROUP_ANNOTATION]: directory } };
    try {
      const request = { config: podSandboxConfig(recorded, machine), runtimeHandler: handlerOf(config) };
      const run = () => this.#call(RuntimeService.runPodSandbox, request, action, signal);
      return (await this.#turns.run(0, run, signal)).podSandboxId;
    } catch (error) {
      // Nobody would remove it: without a sandbox, nothing records it.
      await this.#cgroups.removeEmpty(directory);
      throw error;
    }
  }

  async stopSandbox(id: string, signal?: AbortSignal): Promise<void> {
    const { stopPodSandbox } = RuntimeService;
    await this.#lister.lostEnds.release(id);
    await unlessGone(this.#call(stopPodSandbox, { podSandboxId: id }, `stop the sandbox ${id}`, signal));
  }

  async removeSandbox(id: string, signal?: AbortSignal): Promise<void> {
    const sandbox = await this.#lister.sandbox(id, signal);
    const { removePodSandbox } = RuntimeService;
    const cgroup = sandbox?.annotations[CGROUP_ANNOTATION];
    const isLast = async () => sandbox !== undefined && (await this.#lister.isLast(sandbox, signal));
    // Where the node is killed after the sandbox has gone, nobody knows of the group any more: mostly it can go before.
    const isRemoved = cgroup !== undefined && (await isLast()) && (await this.#cgroups.removeEmpty(cgroup));
    const removal = this.#call(removePodSandbox, { podSandboxId: id }, `remove the sandbox ${id}`, signal);
    await unlessGone(this.#lister.lostEnds.hasLost(id) ? this.#unlessRefused(id, removal) : removal);
    if (cgroup === undefined || isRemoved || !(await isLast())) return;
    // What the runtime has lost track of, killed while it made something, nobody else would end.
    if ((await this.#cgroups.remove(cgroup)) || (await this.#cgroups.clear(cgroup))) return;
    this.#log.warn("a pod's control group still has processes in it", { cgroup });
  }

  /** With a container of which it has missed the end, the runtime cannot remove a sandbox. */
  async #unlessRefused(sandbox: string, removal: Promise<unknown>): Promise<void> {
    try {
      await removal;
    } catch (error) {
      if (!(error instanceof CriCallFailed)) throw error;
      this.#lister.lostEnds.hide(sandbox);
    }
  }

  async clearGroup(cgroupParent: string, signal?: AbortSignal): Promise<void> {
    const { driver } = await this.#machine(signal);
    const cgroup = cgroupDirectory(cgroupParent, driver);
    if (!(await this.#cgroups.removeEmpty(cgroup))) throw new CriGroupBusy({ cgroup });
  }

  async createContainer(
    sandbox: string,
    config: ContainerConfig,
    pod: SandboxConfig,
    signal?: AbortSignal,
  ): Promise<string> {
    const machine = await this.#machine(signal);
    const action = `make the container ${config.name} of pod ${nameOf(pod)}`;
    this.#refuse(config, action);
    await mkdir(dirname(join(pod.logDirectory, config.logPath)), { recursive: true });
    const request = {
      podSandboxId: sandbox,
      config: containerConfig(config, pod, machine),
      sandboxConfig: podSandboxConfig(pod, machine),
    };
    const create = () => this.#call(RuntimeService.createContainer, request, action, signal);
    return (await this.#turns.run(1, create, signal)).containerId;
  }

  async startContainer(id: string, signal?: AbortSignal): Promise<void> {
    const start = async () => {
      await this.#outputs.hold(id, signal);
      this.#outputs.keep();
      await this.#starts.start(id, signal);
    };
    await this.#turns.run(2, start, signal);
  }

  async stopContainer(id: string, graceSeconds: number, signal?: AbortSignal): Promise<void> {
    await this.#lister.lostEnds.release(id);
    const timeout = Math.max(0, Math.ceil(graceSeconds));
    const call = this.#client.call(
      RuntimeService.stopContainer,
      { containerId: id, timeout: BigInt(timeout) },
      { action: `stop the container ${id}`, timeout: timeout * 1000 + KILL_TIMEOUT, ...(signal && { signal }) },
    );
    await unlessGone(call);
  }

  async removeContainer(id: string, signal?: AbortSignal): Promise<void> {
    const { lostEnds } = this.#lister;
    if (lostEnds.isLost(id)) {
      await lostEnds.release(id);
      const pod = await this.#podGroupOf(id, signal);
      if (pod !== undefined) await this.#clearContainer(id, pod);
      return lostEnds.hide(id);
    }
    const { removeContainer, containerStatus } = RuntimeService;
    const action = `read the status of container ${id}`;
    await unlessGone(
      this.#call(containerStatus, { containerId: id }, action, signal).then(({ status }) => {
        // The runtime would kill it. A start that an earlier process of the node asked for has just come to its end.
        if (status?.state === ContainerState.CONTAINER_RUNNING) throw new CriStillRuns({ id });
      }),
    );
    const pod = await this.#podGroupOf(id, signal);
    await unlessGone(this.#call(removeContainer, { containerId: id }, `remove the container ${id}`, signal));
    if (pod !== undefined) await this.#clearContainer(id, pod);
  }

  /** A runtime that was killed while it made the first process of a container may no longer know that there is one. */
  async #clearContainer(id: string, pod: string): Promise<void> {
    const cgroup = await this.#cgroups.groupOf(id, pod);
    if (cgroup === undefined || (await this.#cgroups.clear(cgroup))) return;
    this.#log.warn("processes of a container that was removed do not end", { container: id, cgroup });
  }

  async #podGroupOf(container: string, signal?: AbortSignal): Promise<string | undefined> {
    const sandbox = await this.#lister.sandboxOf(container, signal);
    return sandbox?.annotations[CGROUP_ANNOTATION];
  }

  async updateResources(id: string, resources: ContainerResources, signal?: AbortSignal): Promise<void> {
    const { updateContainerResources } = RuntimeService;
    const linux = updatedResources(resources, this.#cgroups);
    await this.#call(
      updateContainerResources,
      { containerId: id, linux },
      `change the limits of container ${id}`,
      signal,
    );
    this.#lister.forget(id);
  }

  async resizeSandbox(_id: string, config: SandboxConfig, signal?: AbortSignal): Promise<void> {
    const { driver } = await this.#machine(signal);
    await this.#cgroups.prepare(cgroupDirectory(config.cgroupParent, driver), config.resources ?? {});
  }

  async exec(id: string, command: readonly string[], streams: CommandStreams, signal?: AbortSignal): Promise<number> {
    return (await this.#streams()).exec(id, command, streams, signal);
  }

  async attach(id: string, streams: CommandStreams, signal?: AbortSignal): Promise<void> {
    await (await this.#streams()).attach(id, streams, signal);
  }

  async portForward(sandbox: string, port: number, stream: Duplex, signal?: AbortSignal): Promise<void> {
    await (await this.#streams()).portForward(sandbox, port, stream, signal);
  }

  async execSync(id: string, command: readonly string[], timeoutMs: number): Promise<ExecSyncResult> {
    return execSync(this.#client, id, command, timeoutMs);
  }

  async reopenLog(id: string): Promise<void> {
    const { reopenContainerLog } = RuntimeService;
    await this.#call(reopenContainerLog, { containerId: id }, `open the log of container ${id} again`);
  }

  stats(signal?: AbortSignal): Promise<{ sandboxes: SandboxStats[]; containers: ContainerStats[] }> {
    return this.#stats.stats(signal);
  }

  /** Cuts the connection. What runs goes on. */
  close(): void {
    this.#client.close();
    this.#starts.close();
    this.#outputs.close();
  }

  /** Loaded when it is first used: most nodes hardly ever need it. */
  async #streams(): Promise<CriStreams> {
    const { CriStreams } = await import("./streaming/cri-streams.ts");
    return new CriStreams({ client: this.#client, clock: this.#clock, dial: this.#options.dial });
  }

  #call<I, O>(method: Method<I, O>, request: Init<I>, action: string, signal?: AbortSignal): Promise<O> {
    return this.#client.call(method, request, { action, ...(signal && { signal }) });
  }

  #refuse(config: Parameters<typeof configurationObjection>[1], action: string): void {
    const reason = configurationObjection(this.#abilities, config);
    if (reason !== undefined) throw new CriCallFailed({ action, reason, status: grpcStatus.unimplemented });
  }

  async #machine(signal?: AbortSignal): Promise<MachineOptions & { driver: CgroupDriver }> {
    if (this.#abilities.recursiveReadOnly === undefined) await this.health(signal);
    this.#driver ??= await cgroupDriverOf(this.#client, signal);
    const driver = this.#driver;
    return {
      driver,
      unified: this.#cgroups.unified,
      seccompDirectory: this.#options.seccompDirectory ?? "/var/lib/kubelet/seccomp",
      cgroupParent: (path) => cgroupParentName(path, driver),
    };
  }
}

function nameOf({ pod }: SandboxConfig): string {
  return `${pod.namespace}/${pod.name}`;
}

/** `cri` is what the node calls this runtime as a whole: of its handlers, the default is meant. */
function handlerOf({ runtimeHandler }: SandboxConfig): string {
  return runtimeHandler === "cri" ? "" : runtimeHandler;
}

/** A runtime that hangs is to be noticed before the cluster notices the node. */
const HEALTH_TIMEOUT = 15_000;

/** A start that takes longer waits for something else than a processor, such as the network's plugin. */
const START_PATIENCE = 3_000;

/** What a runtime may take to kill a container, on top of its grace. */
const KILL_TIMEOUT = 2 * 60_000;

/** Whatever is to be stopped or removed may be gone already. */
async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (error instanceof CriCallFailed && error.status === grpcStatus.notFound) return;
    throw error;
  }
}
