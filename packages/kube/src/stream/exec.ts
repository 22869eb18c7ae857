import { describeTarget, objectPath } from "../client/resource-path.ts";
import type { ClusterConfig } from "../config/cluster-config.ts";
import type { StreamOptions } from "./open-socket.ts";
import { type CommandResult, type CommandStreams, runCommand, streamsQuery } from "./remote-command.ts";

const pods = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true } as const;

/** A container of a pod. */
export interface ContainerTarget {
  /** @default the configuration's */
  readonly namespace?: string;
  readonly pod: string;
  /** @default the pod's only or default container */
  readonly container?: string;
}

export interface ExecOptions extends ContainerTarget, CommandStreams, StreamOptions {
  readonly command: readonly string[];
}

export type AttachOptions = ContainerTarget & CommandStreams & StreamOptions;

/**
 * Runs a command in a container and resolves with its exit code when it has ended and all its output is written. Throws
 * `ApiError` where the server refuses, `ConnectionError` where the connection breaks, and the signal's reason.
 */
export function exec(config: ClusterConfig, options: ExecOptions): Promise<CommandResult> {
  return command(config, "exec", "run a command in", options, options.command);
}

/** Joins the streams of a container's own process. Resolves when that ends, with 0 where the server tells no exit code. */
export function attach(config: ClusterConfig, options: AttachOptions): Promise<CommandResult> {
  return command(config, "attach", "attach to", options, []);
}

async function command(
  config: ClusterConfig,
  subresource: "exec" | "attach",
  verb: string,
  options: AttachOptions,
  words: readonly string[],
): Promise<CommandResult> {
  const key = { namespace: options.namespace ?? config.namespace, name: options.pod };
  const query = new URLSearchParams(words.map((word): [string, string] => ["command", word]));
  if (options.container !== undefined) query.append("container", options.container);
  for (const [name, value] of streamsQuery(options)) query.append(name, value);
  return await runCommand(config, {
    ...options,
    path: `${objectPath(pods, key, subresource)}?${query}`,
    action: `${verb} ${describeTarget(pods, key)}`,
  });
}
