import type { Duplex } from "node:stream";
import type { Pod } from "@fjord/kube";
import type { CommandStreams } from "../stream/command-streams.ts";
import type { Summary } from "./summary.ts";

/** A container of a pod, as requests name it. */
export interface ContainerAddress {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Where the caller knows it, so that a pod of the same name is not meant. */
  readonly uid?: string;
}

export interface LogRequest {
  readonly follow: boolean;
  /** Of the container before the last restart. */
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Lines from the end; absent: all. */
  readonly tailLines?: number;
  /** Milliseconds since the epoch; earlier lines are left out. */
  readonly since?: number;
  readonly limitBytes?: number;
  readonly stream?: "stdout" | "stderr";
}

/**
 * What the kubelet API serves. A node answers from its runtime; a virtual node from the site that it stands for. What
 * does not exist is refused with a `KubeletApiError` that carries the HTTP status.
 */
export interface KubeletBackend {
  pods(): readonly Pod[];
  /** Bytes as kubectl prints them. Resolves when the log is there to be read; failing afterwards cuts the answer off. */
  logs(address: ContainerAddress, request: LogRequest, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /** Resolves with the exit code. */
  exec(
    address: ContainerAddress,
    command: readonly string[],
    streams: CommandStreams,
    signal: AbortSignal,
  ): Promise<number>;
  attach(address: ContainerAddress, streams: CommandStreams, signal: AbortSignal): Promise<void>;
  portForward(
    pod: Omit<ContainerAddress, "container">,
    port: number,
    stream: Duplex,
    signal: AbortSignal,
  ): Promise<void>;
  summary(signal: AbortSignal): Promise<Summary>;
  /** Throws with the reason where the node is not well. */
  healthy(): void;
}
