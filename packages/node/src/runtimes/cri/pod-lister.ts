import { stat } from "node:fs/promises";
import { type Clock, describeError, type Logger, silentLogger, sleep, systemClock } from "@fjord/base";
import type { RuntimeContainer, RuntimeSandbox } from "../../runtime/index.ts";
import { ContainerdTasks } from "./containerd-tasks.ts";
import type { CriClient } from "./cri-client.ts";
import { CriCallFailed } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import type { HeldOutputs } from "./held-outputs.ts";
import { runtimeContainer, runtimeSandbox } from "./listing.ts";
import { type Listed, LostEnds } from "./lost-ends.ts";
import { ListDecoder } from "./proto/decode.ts";
import {
  Container,
  ContainerState,
  type ContainerStatus,
  PodSandbox,
  PodSandboxState,
  RuntimeService,
} from "./proto/messages.ts";

const { CONTAINER_CREATED, CONTAINER_EXITED, CONTAINER_RUNNING } = ContainerState;

/** How much later than of an end a runtime may hear that memory was its cause. */
const MEMORY_PATIENCE = 100;

export interface PodListerOptions {
  /** @default none are held */
  readonly outputs?: HeldOutputs;
  readonly clock?: Clock;
  readonly log?: Logger;
}

/**
 * Lists what a runtime has. Two calls tell what there is; each container's status and each sandbox' address are asked
 * for once, and again only when the state has changed.
 */
export class PodLister {
  readonly lostEnds: LostEnds;
  readonly #client: CriClient;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #outputs: HeldOutputs | undefined;
  readonly #tasks: ContainerdTasks;
  readonly #containers = new Map<string, { state: ContainerState; container: RuntimeContainer }>();
  readonly #addresses = new Map<string, readonly string[]>();
  readonly #containerItems = new ListDecoder(Container);
  readonly #sandboxItems = new ListDecoder(PodSandbox);
  /** As they were last listed. */
  #sandboxes: ReadonlyMap<string, PodSandbox> = new Map();

  constructor(client: CriClient, { outputs, clock = systemClock, log = silentLogger }: PodListerOptions = {}) {
    this.#client = client;
    this.#outputs = outputs;
    this.#clock = clock;
    this.#log = log;
    this.#tasks = new ContainerdTasks(client);
    this.lostEnds = new LostEnds({ tasks: this.#tasks, clock, log });
  }

  /** A sandbox as it was last listed; lists anew only where it was not. */
  async sandbox(id: string, signal?: AbortSignal): Promise<PodSandbox | undefined> {
    if (!this.#sandboxes.has(id)) await this.listRaw(signal);
    return this.#sandboxes.get(id);
  }

  /** The sandbox of a container as they were last listed; lists anew only where they were not. */
  async sandboxOf(container: string, signal?: AbortSignal): Promise<PodSandbox | undefined> {
    const known = this.#containers.get(container)?.container.sandbox;
    if (known !== undefined) return this.sandbox(known, signal);
    const { containers } = await this.listRaw(signal);
    return this.#sandboxes.get(containers.find(({ id }) => id === container)?.podSandboxId ?? "");
  }

  /** Whether a sandbox, which may just have been removed, is the last one of its pod. */
  async isLast({ id, metadata }: PodSandbox, signal?: AbortSignal): Promise<boolean> {
    const hasOther = () =>
      this.#sandboxes.values().some((other) => other.id !== id && other.metadata?.uid === metadata?.uid);
    // What was listed may be gone by now; most pods have only one, and need no second look.
    if (hasOther()) await this.listRaw(signal);
    return !hasOther();
  }

  /** What is known of a container is to be asked for again. */
  forget(container: string): void {
    this.#containers.delete(container);
  }

  async list(signal?: AbortSignal): Promise<RuntimeSandbox[]> {
    const { sandboxes, containers } = await this.listRaw(signal);
    const detailed = await Promise.all(containers.map((container) => this.#container(container, signal)));
    const bySandbox = Map.groupBy(
      detailed.filter((container) => container !== undefined),
      (container) => container.sandbox,
    );
    const all = await Promise.all(
      sandboxes.map(async (sandbox) =>
        runtimeSandbox(sandbox, await this.#addressesOf(sandbox, signal), bySandbox.get(sandbox.id) ?? []),
      ),
    );
    this.#keepOnly(sandboxes, containers);
    return all.toSorted((a, b) => b.createdAt - a.createdAt || b.attempt - a.attempt);
  }

  /** What the runtime tells without being asked for each. */
  async listRaw(signal?: AbortSignal): Promise<Listed> {
    const options = signal && { signal };
    // Containers first: the sandbox of each that is listed is then there, unless it has been removed meanwhile.
    const containers = await this.#client.list(RuntimeService.listContainers, {}, this.#containerItems, {
      action: "list containers",
      ...options,
    });
    const items = await this.#client.list(RuntimeService.listPodSandbox, {}, this.#sandboxItems, {
      action: "list sandboxes",
      ...options,
    });
    const listed = await this.lostEnds.correct({ sandboxes: items, containers });
    this.#sandboxes = new Map(listed.sandboxes.map((sandbox) => [sandbox.id, sandbox]));
    return listed;
  }

  async #container(listed: Container, signal?: AbortSignal): Promise<RuntimeContainer | undefined> {
    const known = this.#containers.get(listed.id);
    if (known?.state === listed.state && !(await this.#hasWritten(known.container))) return known.container;
    let status = await this.#statusOf(listed.id, signal);
    if (status !== undefined && mayLackMemory(status)) {
      await sleep(this.#clock, MEMORY_PATIENCE, signal);
      status = await this.#statusOf(listed.id, signal);
    }
    if (status === undefined) return undefined;
    // Whoever is told of the end finds the log whole.
    if (status.state === CONTAINER_EXITED) await this.#outputs?.settle(listed.id, status.logPath);
    if (status.state === CONTAINER_RUNNING) await this.#outputs?.hold(listed.id, signal);
    const isUnbegun = hasLostTrack(status) && (await this.#tasks.stageOf(listed.id)) !== "begun";
    const container = runtimeContainer(listed, isUnbegun ? { ...status, state: CONTAINER_CREATED } : status);
    if (await this.#wasKilled(container, signal)) {
      const ended = { ...container, ...killed };
      this.#containers.set(listed.id, { state: status.state, container: ended });
      return ended;
    }
    // Told of as ended, it may be replaced and has to be removable.
    const isFailed = status.state === CONTAINER_EXITED && status.startedAt <= 0n;
    if (isFailed && !(await this.#isCleared(listed.id))) return container;
    this.#containers.set(listed.id, { state: status.state, container });
    return container;
  }

  /**
   * Whether a container that counts as not begun has run: killed just after it had begun the program, containerd comes back,
   * kills what it takes for one that waits to be begun, and says nothing of it. Only what the program wrote tells.
   */
  async #wasKilled(container: RuntimeContainer, signal?: AbortSignal): Promise<boolean> {
    const { id } = container;
    if (!(await this.#hasWritten(container)) || (await this.#tasks.stageOf(id)) !== "none") return false;
    // One that runs and ends meanwhile is no longer in the state that it was in.
    return (await this.#statusOf(id, signal))?.state === CONTAINER_CREATED;
  }

  async #statusOf(containerId: string, signal?: AbortSignal): Promise<ContainerStatus | undefined> {
    const options = { action: `read the status of container ${containerId}`, ...(signal && { signal }) };
    const call = this.#client.call(RuntimeService.containerStatus, { containerId }, options);
    const { status } = await this.#unlessGone(call);
    return status && this.lostEnds.correctStatus(containerId, status);
  }

  /** Whether there is output of a container that counts as not begun; what the runtime has not read of it comes into the log. */
  async #hasWritten(container: RuntimeContainer): Promise<boolean> {
    const { id, state, logFile } = container;
    if (state === "created" && this.#outputs?.isLeft(id)) await this.#outputs.settle(id, logFile);
    return await hasWritten(container);
  }

  /** Whether nothing is left of a container whose start failed; what is left is tried again with the next list. */
  async #isCleared(id: string): Promise<boolean> {
    try {
      await this.#tasks.end(id);
      return true;
    } catch (error) {
      this.#log.warn("cannot end what is left of a failed start", { container: id, error: describeError(error) });
      return false;
    }
  }

  async #addressesOf(listed: PodSandbox, signal?: AbortSignal): Promise<readonly string[]> {
    const known = this.#addresses.get(listed.id);
    if (known !== undefined || listed.state !== PodSandboxState.SANDBOX_READY) return known ?? [];
    const { status } = await this.#unlessGone(
      this.#client.call(
        RuntimeService.podSandboxStatus,
        { podSandboxId: listed.id },
        { action: `read the status of sandbox ${listed.id}`, ...(signal && { signal }) },
      ),
    );
    if (status === undefined) return [];
    const { ip = "", additionalIps = [] } = status.network ?? {};
    const addresses = [ip, ...additionalIps.map((each) => each.ip)].filter((address) => address !== "");
    this.#addresses.set(listed.id, addresses);
    return addresses;
  }

  /** Between being listed and being asked for, things are removed. */
  async #unlessGone<T extends { status?: unknown }>(answer: Promise<T>): Promise<T | { status?: undefined }> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof CriCallFailed && error.status === grpcStatus.notFound) return {};
      throw error;
    }
  }

  #keepOnly(sandboxes: readonly PodSandbox[], containers: readonly Container[]): void {
    keep(this.#addresses, sandboxes);
    keep(this.#containers, containers);
    this.#outputs?.keepOnly(new Set(containers.map(({ id }) => id)));
  }
}

/**
 * containerd notes a container before its state: killed in between, it knows of one in no state that it knows. Nobody can
 * have asked for its start, for nobody was told that it is there. Where it only cannot read the state, there is a process.
 */
function hasLostTrack({ state, startedAt }: ContainerStatus): boolean {
  return state === ContainerState.CONTAINER_UNKNOWN && startedAt <= 0n;
}

/** containerd hears of ends and of a lack of memory on two ways, and may tell of the end before it knows why. */
function mayLackMemory({ state, exitCode, reason }: ContainerStatus): boolean {
  return state === CONTAINER_EXITED && exitCode === 137 && reason !== "OOMKilled";
}

/** Whether there is something in the log of a container that counts as not begun, and not from one before it. */
async function hasWritten({ state, logFile, createdAt }: RuntimeContainer): Promise<boolean> {
  if (state !== "created" || logFile === "") return false;
  try {
    const { size, mtimeMs } = await stat(logFile);
    return size > 0 && mtimeMs >= createdAt;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

const killed = {
  state: "exited",
  exitCode: 137,
  reason: "Error",
  message: "the container runtime was killed when the container had just begun, and ended it when it came back",
} as const;

function keep(known: Map<string, unknown>, listed: readonly { id: string }[]): void {
  const ids = new Set(listed.map(({ id }) => id));
  for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
}
