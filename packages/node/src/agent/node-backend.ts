import type { Duplex } from "node:stream";
import { type Clock, sleep } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { ContainerAddress, KubeletBackend, LogRequest } from "../kubelet-api/backend.ts";
import {
  ContainerNotHere,
  ContainerNotRunning,
  ContainerWaiting,
  NoPreviousContainer,
  PodNotHere,
} from "../kubelet-api/errors.ts";
import type { Summary } from "../kubelet-api/summary.ts";
import { LogMissing, readLog } from "../logs/index.ts";
import type { LocatedContainer, PodManager } from "../pod/pod-manager.ts";
import type { CommandStreams } from "../stream/command-streams.ts";

export interface NodeBackendOptions {
  readonly manager: Pick<PodManager, "pods" | "pod" | "container" | "sandbox">;
  readonly summary: (signal: AbortSignal) => Promise<Summary>;
  /** Throws with the reason where the node is not well. */
  readonly healthy: () => void;
  readonly clock: Clock;
}

/** How soon a log that is followed ends after its container. */
const LOOK_MS = 500;

/** Serves the kubelet API from the pods of this machine. */
export class NodeBackend implements KubeletBackend {
  readonly #options: NodeBackendOptions;

  constructor(options: NodeBackendOptions) {
    this.#options = options;
  }

  pods(): readonly Pod[] {
    return this.#options.manager.pods();
  }

  healthy(): void {
    this.#options.healthy();
  }

  summary(signal: AbortSignal): Promise<Summary> {
    return this.#options.summary(signal);
  }

  async logs(address: ContainerAddress, request: LogRequest, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { container } = this.#locate(address, request.previous ? "previous" : "current");
    const { follow, previous: _, ...options } = request;
    const { clock } = this.#options;
    const log = readLog(container.logFile, {
      ...options,
      signal,
      clock,
      ...(follow && { ended: this.#ended(address, container.id, signal) }),
    });
    return log.catch((error: unknown) => {
      // A container that never wrote anything has no file, and an empty log.
      if (error instanceof LogMissing) return nothing();
      throw error;
    });
  }

  /** Resolves when the container writes no more. */
  async #ended(address: ContainerAddress, id: string, signal: AbortSignal): Promise<void> {
    const isWriting = () => {
      const container = this.#options.manager.container(address)?.container;
      return container?.id === id && container.state !== "exited";
    };
    while (!signal.aborted && isWriting()) await sleep(this.#options.clock, LOOK_MS, signal);
  }

  exec(
    address: ContainerAddress,
    command: readonly string[],
    streams: CommandStreams,
    signal: AbortSignal,
  ): Promise<number> {
    const { runtime, container } = this.#running(address);
    return runtime.exec(container.id, command, streams, signal);
  }

  attach(address: ContainerAddress, streams: CommandStreams, signal: AbortSignal): Promise<void> {
    const { runtime, container } = this.#running(address);
    return runtime.attach(container.id, streams, signal);
  }

  async portForward(
    pod: Omit<ContainerAddress, "container">,
    port: number,
    stream: Duplex,
    signal: AbortSignal,
  ): Promise<void> {
    const located = this.#options.manager.sandbox(pod);
    if (located === undefined) throw new PodNotHere({ pod: pod.pod });
    await located.runtime.portForward(located.sandbox.id, port, stream, signal);
  }

  #running(address: ContainerAddress): LocatedContainer {
    const located = this.#locate(address, "current");
    const { state } = located.container;
    if (state !== "running") throw new ContainerNotRunning({ ...address, state });
    return located;
  }

  #locate(address: ContainerAddress, which: "current" | "previous"): LocatedContainer {
    const { manager } = this.#options;
    const located = manager.container(address, which);
    if (located !== undefined) return located;
    const pod = manager.pod(address);
    if (pod === undefined) throw new PodNotHere({ pod: address.pod });
    const status = containerStatus(pod, address.container);
    if (status === "unknown") throw new ContainerNotHere(address);
    if (which === "previous") throw new NoPreviousContainer(address);
    throw new ContainerWaiting({ ...address, reason: status });
  }
}

/** Why a container of the pod's waits; "unknown" where the pod has no such container. */
function containerStatus({ spec, status }: Pod, name: string): string {
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  if (!containers.some((container) => container.name === name)) return "unknown";
  const statuses = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  return statuses.find((each) => each.name === name)?.state?.waiting?.reason ?? "ContainerCreating";
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
