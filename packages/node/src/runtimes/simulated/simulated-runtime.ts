import type { Duplex } from "node:stream";
import { type Clock, type Logger, sleep } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { annotations as podAnnotations } from "../../pod/annotations.ts";
import { StartProblem } from "../../pod/worker/start-problem.ts";
import type {
  ContainerConfig,
  ContainerResources,
  ContainerStats,
  ProbeAnswer,
  Runtime,
  RuntimeSandbox,
  SandboxConfig,
  SandboxStats,
} from "../../runtime/index.ts";
import type { CommandStreams } from "../../stream/command-streams.ts";
import { FJORD_VERSION } from "../../version.ts";
import { AddressRange } from "./address-range.ts";
import { NothingSimulated, SimulatedFailure } from "./errors.ts";
import { beginningOf, fateOf, sandboxDelay, stopOf } from "./fate.ts";
import { type ContainerRecord, idOf, RecordFile, type SandboxRecord } from "./record-file.ts";
import { type PodRule, settingObjections, settingsOf } from "./rules.ts";
import type { Settings } from "./settings.ts";
import { SimulatedLog } from "./simulated-log.ts";
import { usageAt } from "./usage.ts";

export interface SimulatedRuntimeOptions {
  /** Where its records are kept, so that a new process finds them; absent: nowhere. */
  readonly file?: string;
  readonly rules?: readonly PodRule[];
  /** Addresses of pods. @default 10.64.0.0/10 */
  readonly podRange?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A runtime that runs nothing: what becomes of a container is known when it starts, by annotations and rules. */
export class SimulatedRuntime implements Runtime {
  readonly #options: SimulatedRuntimeOptions;
  readonly #records: RecordFile;
  readonly #addresses: AddressRange;
  readonly #log: SimulatedLog;
  readonly #listeners = new Set<(podUid: string) => void>();
  /** Cancels the ends that are to come, by container. */
  readonly #ends = new Map<string, () => void>();
  readonly #tries = new Map<string, number>();

  /** Goes on with what an earlier process has left in the file. */
  static async open(options: SimulatedRuntimeOptions): Promise<SimulatedRuntime> {
    return new SimulatedRuntime(options, await RecordFile.open(options));
  }

  private constructor(options: SimulatedRuntimeOptions, records: RecordFile) {
    this.#options = options;
    this.#records = records;
    this.#addresses = new AddressRange(options.podRange ?? "10.64.0.0/10");
    this.#log = new SimulatedLog(options.clock);
    for (const sandbox of records.sandboxes) {
      for (const address of sandbox.addresses) this.#addresses.claim(address);
      for (const container of sandbox.containers) this.#await(sandbox, container);
    }
  }

  async version() {
    return { name: "simulated", version: FJORD_VERSION };
  }

  async health() {
    return { ready: true };
  }

  objections(pod: Pod): string[] {
    return settingObjections(pod);
  }

  notes(): string[] {
    return ["this node simulates pods: nothing of them runs"];
  }

  async list(): Promise<RuntimeSandbox[]> {
    const sandboxes = this.#records.sandboxes.map((sandbox) => structuredClone(sandbox));
    await this.#records.saved();
    return sandboxes;
  }

  async *changes(signal: AbortSignal): AsyncIterable<string> {
    const changed: string[] = [];
    let wake = () => {};
    const listener = (uid: string) => {
      changed.push(uid);
      wake();
    };
    const stop = () => wake();
    this.#listeners.add(listener);
    signal.addEventListener("abort", stop);
    while (!signal.aborted) {
      for (let uid = changed.shift(); uid !== undefined; uid = changed.shift()) yield uid;
      if (signal.aborted) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    signal.removeEventListener("abort", stop);
    this.#listeners.delete(listener);
  }

  async runSandbox(config: SandboxConfig, signal?: AbortSignal): Promise<string> {
    const { clock } = this.#options;
    const settings = this.#settings(config);
    const error = settings.get("sandbox-error");
    await this.#pass(sandboxDelay(settings, config.pod.uid), signal);
    if (error !== undefined) throw new SimulatedFailure({ message: error });
    const id = idOf(config.pod.uid, "sandbox", config.attempt);
    const known = this.#records.sandboxes.find((sandbox) => sandbox.id === id);
    if (known !== undefined) return id;
    const { pod, attempt, annotations, labels } = config;
    const addresses = config.namespaces.hostNetwork ? [] : [this.#addresses.take()];
    const createdAt = clock.now();
    this.#records.sandboxes.unshift({
      ...{ id, pod, attempt, state: "ready", createdAt, addresses, annotations, labels, containers: [] },
    });
    this.#changed(pod.uid);
    return id;
  }

  async stopSandbox(id: string): Promise<void> {
    const sandbox = this.#records.sandboxes.find((candidate) => candidate.id === id);
    if (sandbox === undefined) return;
    for (const container of sandbox.containers) this.#finish(sandbox, container, 137);
    for (const address of sandbox.addresses) this.#addresses.release(address);
    sandbox.state = "notReady";
    this.#changed(sandbox.pod.uid);
  }

  async removeSandbox(id: string): Promise<void> {
    await this.stopSandbox(id);
    this.#records.sandboxes = this.#records.sandboxes.filter((sandbox) => sandbox.id !== id);
    this.#records.changed();
  }

  async createContainer(
    sandboxId: string,
    config: ContainerConfig,
    pod: SandboxConfig,
    signal?: AbortSignal,
  ): Promise<string> {
    const { name, attempt, image, annotations, resources, logPath } = config;
    const sandbox = this.#records.sandboxes.find((candidate) => candidate.id === sandboxId);
    if (sandbox?.state !== "ready") throw new NothingSimulated({ what: "sandbox", id: sandboxId });
    const id = idOf(sandboxId, name, attempt);
    const tries = this.#tries.get(id) ?? 0;
    this.#tries.set(id, tries + 1);
    const isInit = annotations[podAnnotations.role] === "init";
    const of = { podUid: sandbox.pod.uid, container: name, isInit, attempt };
    const beginning = beginningOf(this.#settings(pod), of, tries);
    await this.#pass(beginning.pullMs, signal);
    if (beginning.pullError !== undefined) throw pullProblem(image, beginning.pullError);
    await this.#pass(beginning.startMs, signal);
    if (beginning.startError !== undefined) throw new StartProblem("RunContainerError", beginning.startError);
    this.#tries.delete(id);
    if (sandbox.containers.some((container) => container.id === id)) return id;
    const createdAt = this.#options.clock.now();
    const logFile = `${pod.logDirectory}/${logPath}`;
    const record = { id, sandbox: sandboxId, name, attempt, state: "created" as const, createdAt, image, isInit };
    sandbox.containers.unshift({ ...record, imageId: image, annotations, logFile, resources });
    this.#changed(sandbox.pod.uid);
    return id;
  }

  async startContainer(id: string): Promise<void> {
    const [sandbox, container] = this.#find(id);
    if (container.state !== "created") return;
    container.state = "running";
    container.startedAt = this.#options.clock.now();
    this.#records.changed();
    await this.#log.begin(sandbox, container, this.#settings(sandbox));
    this.#await(sandbox, container);
    this.#changed(sandbox.pod.uid);
  }

  async stopContainer(id: string, graceSeconds: number, signal?: AbortSignal): Promise<void> {
    const found = this.#search(id);
    if (found === undefined || found[1].state !== "running") return;
    const [sandbox, container] = found;
    const { afterMs, exitCode } = stopOf(this.#settings(sandbox), attemptOf(sandbox, container), graceSeconds * 1000);
    await this.#pass(afterMs, signal);
    this.#finish(sandbox, container, exitCode);
  }

  async removeContainer(id: string): Promise<void> {
    const found = this.#search(id);
    if (found === undefined) return;
    const [sandbox, container] = found;
    this.#finish(sandbox, container, 137);
    sandbox.containers = sandbox.containers.filter((each) => each !== container);
    this.#changed(sandbox.pod.uid);
  }

  async updateResources(id: string, resources: ContainerResources): Promise<void> {
    const [sandbox, container] = this.#find(id);
    container.resources = resources;
    this.#changed(sandbox.pod.uid);
  }

  /** Says what it would run. */
  async exec(id: string, command: readonly string[], streams: CommandStreams): Promise<number> {
    const [sandbox, container] = this.#find(id);
    const code = this.#settings(sandbox).get("exec-exit-code", container.name) ?? 0;
    const line = `simulated: nothing runs in container ${container.name}; the command would be ${JSON.stringify(command)}\n`;
    streams.stdout?.end(streams.tty ? line.replace("\n", "\r\n") : line);
    streams.stderr?.end();
    return code;
  }

  /** Nothing listens, and no command runs: a container is ready when its settings say so, and always well. */
  async probe(id: string, kind: "Startup" | "Liveness" | "Readiness"): Promise<ProbeAnswer> {
    const [sandbox, container] = this.#find(id);
    const { readyMs } = fateOf(this.#settings(sandbox), attemptOf(sandbox, container));
    const isReady = this.#options.clock.now() >= (container.startedAt ?? 0) + readyMs;
    if (kind === "Liveness" || isReady) return { outcome: "success", message: "" };
    return { outcome: "failure", message: "the simulation says that it is not ready yet" };
  }

  async attach(id: string, streams: CommandStreams): Promise<void> {
    const [, { name }] = this.#find(id);
    streams.stdout?.end(`simulated: nothing runs in container ${name}\n`);
    streams.stderr?.end();
  }

  async portForward(sandbox: string, port: number, stream: Duplex): Promise<void> {
    stream.destroy();
    throw new SimulatedFailure({ message: `nothing listens on port ${port} of the simulated pod ${sandbox}` });
  }

  async reopenLog(): Promise<void> {
    // Every line is a write of its own: there is nothing open.
  }

  async stats(): Promise<{ sandboxes: SandboxStats[]; containers: ContainerStats[] }> {
    const time = this.#options.clock.now();
    const ready = this.#records.sandboxes.filter(({ state }) => state === "ready");
    const containers = ready.flatMap((sandbox) =>
      sandbox.containers.filter(({ state }) => state === "running").map((each) => this.#usage(sandbox, each, time)),
    );
    return { sandboxes: ready.map(({ id, pod }) => ({ id, pod })), containers };
  }

  /** Writes what has changed; done by itself a moment after each change. */
  close(): Promise<void> {
    for (const cancel of this.#ends.values()) cancel();
    return this.#records.flush();
  }

  #usage(sandbox: SandboxRecord, container: ContainerRecord, time: number): ContainerStats {
    const { id, name, startedAt = time, resources = {} } = container;
    const { cpuRequest, memoryRequest } = resources;
    const requests = {
      ...(cpuRequest !== undefined && { cpu: cpuRequest / 1000 }),
      ...(memoryRequest !== undefined && { memory: memoryRequest }),
    };
    const settings = this.#settings(sandbox);
    const used = usageAt(time, { settings, podUid: sandbox.pod.uid, container: name, startedAt, requests });
    const { cpuNanoseconds, memoryBytes } = used;
    const memory = { workingSetBytes: memoryBytes, rssBytes: memoryBytes, usageBytes: memoryBytes };
    return { id, name, pod: sandbox.pod, startedAt, usage: { time, cpuNanoseconds, ...memory } };
  }

  /** Lets the container end when its time comes, or has come while nobody looked. */
  #await(sandbox: SandboxRecord, container: ContainerRecord): void {
    if (container.state !== "running") return;
    const { clock } = this.#options;
    const fate = fateOf(this.#settings(sandbox), attemptOf(sandbox, container));
    const at = (container.startedAt ?? 0) + fate.exitMs;
    if (at === Number.POSITIVE_INFINITY) return;
    const end = () => this.#finish(sandbox, container, fate.exitCode, at, fate.exitReason, fate.exitMessage);
    if (at <= clock.now()) end();
    else this.#ends.set(container.id, clock.after(at - clock.now(), end));
  }

  #finish(
    sandbox: SandboxRecord,
    container: ContainerRecord,
    exitCode: number,
    at: number = this.#options.clock.now(),
    reason: string = exitCode === 0 ? "Completed" : "Error",
    message?: string,
  ): void {
    this.#ends.get(container.id)?.();
    this.#ends.delete(container.id);
    if (container.state === "exited") return;
    Object.assign(container, { state: "exited", exitCode, finishedAt: at, reason, ...(message && { message }) });
    this.#changed(sandbox.pod.uid);
  }

  #settings({ pod, annotations, labels }: Pick<SandboxConfig, "pod" | "annotations" | "labels">): Settings {
    const metadata = {
      name: pod.name,
      namespace: pod.namespace,
      annotations: { ...annotations },
      labels: { ...labels },
    };
    return settingsOf({ apiVersion: "v1", kind: "Pod", metadata }, this.#options.rules ?? []);
  }

  async #pass(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (ms > 0) await sleep(this.#options.clock, ms, signal);
    signal?.throwIfAborted();
  }

  #find(id: string): [SandboxRecord, ContainerRecord] {
    const found = this.#search(id);
    if (found === undefined) throw new NothingSimulated({ what: "container", id });
    return found;
  }

  #search(id: string): [SandboxRecord, ContainerRecord] | undefined {
    for (const sandbox of this.#records.sandboxes) {
      const container = sandbox.containers.find((candidate) => candidate.id === id);
      if (container !== undefined) return [sandbox, container];
    }
    return undefined;
  }

  #changed(uid: string): void {
    this.#records.changed();
    for (const listener of this.#listeners) listener(uid);
  }
}

function attemptOf(sandbox: SandboxRecord, { name, attempt, isInit }: ContainerRecord) {
  return { podUid: sandbox.pod.uid, container: name, isInit, attempt };
}

function pullProblem(image: string, error: string): StartProblem {
  const later = { reason: "ImagePullBackOff", message: `Back-off pulling image "${image}": ${error}` };
  return new StartProblem("ErrImagePull", `failed to pull image "${image}": ${error}`, later);
}
