import type { Duplex } from "node:stream";
import type { Pod } from "@fjord/kube";
import type { CommandStreams } from "../stream/command-streams.ts";
import type { ContainerConfig, SandboxConfig } from "./configuration.ts";
import type { ImageStore } from "./images.ts";
import type { ContainerResources } from "./resources.ts";
import type { ContainerStats, SandboxStats } from "./stats.ts";

type Container = NonNullable<Pod["spec"]>["containers"][number];

/** What a runtime has to say before something starts. */
export interface Verdict {
  /** What cannot be honoured: it does not start unless this is empty. */
  readonly objections: readonly string[];
  /** What is honoured less than asked for. */
  readonly notes: readonly string[];
}

/** Names a pod to a runtime. The uid alone identifies it: names are used again. */
export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * What runs pods on a machine. Sandboxes and containers outlive the node's process, and `list` finds them again: the
 * runtime is the only truth about what runs. Every call may be repeated after a crash: stopping what has stopped and
 * removing what is gone succeed.
 */
export interface Runtime {
  /** For `status.nodeInfo.containerRuntimeVersion`: `containerd://1.6.20`. */
  version(signal?: AbortSignal): Promise<RuntimeVersion>;

  /** Whether pods can be started now. Throws where the runtime does not answer. */
  health(signal?: AbortSignal): Promise<RuntimeHealth>;

  /**
   * What of the pod this runtime cannot honour, a sentence for each; the pod does not begin unless this is empty. Ephemeral
   * containers are left to `judgeEphemeral`. Pure.
   */
  objections(pod: Pod): string[];
  /** What of the pod is honoured less than it asks for, a sentence for each, shown as a warning; the pod runs. Pure. */
  notes?(pod: Pod): string[];
  /** The same of an ephemeral container before it joins the pod; where it is absent, any may join. Pure. */
  judgeEphemeral?(pod: Pod, container: Container): Verdict;

  /** Every sandbox of this node, whatever its state, with its containers; the newest sandbox of a pod comes first. */
  list(signal?: AbortSignal): Promise<RuntimeSandbox[]>;

  /**
   * Uids of pods of which something has changed, soon after the change. A hint: some may be missing, and the node lists
   * now and then. Ends when the signal aborts; throws where the runtime goes away.
   */
  changes(signal: AbortSignal): AsyncIterable<string>;

  /** Makes the pod's sandbox and its network; gives its id. */
  runSandbox(config: SandboxConfig, signal?: AbortSignal): Promise<string>;
  /** Kills whatever runs in it and gives its address back. */
  stopSandbox(id: string, signal?: AbortSignal): Promise<void>;
  /** Removes a stopped sandbox with its containers; their logs stay. */
  removeSandbox(id: string, signal?: AbortSignal): Promise<void>;

  /**
   * Removes the control group of a pod that has no sandbox and gets none any more: a node that was killed while it made
   * the sandbox has left it. Absent where nothing can be left so.
   */
  clearGroup?(cgroupParent: string, signal?: AbortSignal): Promise<void>;

  createContainer(sandbox: string, config: ContainerConfig, pod: SandboxConfig, signal?: AbortSignal): Promise<string>;
  startContainer(id: string, signal?: AbortSignal): Promise<void>;
  /** Asks it to end (its stop signal), and kills it after `graceSeconds`. Resolves when it has ended. */
  stopContainer(id: string, graceSeconds: number, signal?: AbortSignal): Promise<void>;
  removeContainer(id: string, signal?: AbortSignal): Promise<void>;
  /** Changes the limits of a running container. */
  updateResources(id: string, resources: ContainerResources, signal?: AbortSignal): Promise<void>;
  /** Changes the limits of a running pod as a whole to `config.resources`; absent where pods have no such limits. */
  resizeSandbox?(id: string, config: SandboxConfig, signal?: AbortSignal): Promise<void>;

  /** Runs a command in a running container; resolves with its exit code once all output is written. */
  exec(id: string, command: readonly string[], streams: CommandStreams, signal?: AbortSignal): Promise<number>;
  /** Runs a short command to its end, where there is a quicker way than `exec`; rejects when it takes too long. */
  execSync?(id: string, command: readonly string[], timeoutMs: number): Promise<ExecSyncResult>;
  /** Answers for a container that nothing could ask; where it is absent, the container itself is asked. */
  probe?(id: string, kind: "Startup" | "Liveness" | "Readiness"): Promise<ProbeAnswer>;
  /** Joins the streams of a container's own process until it ends or the signal aborts. */
  attach(id: string, streams: CommandStreams, signal?: AbortSignal): Promise<void>;
  /** Joins a stream with a port on the pod's loopback; resolves when either side has ended. */
  portForward(sandbox: string, port: number, stream: Duplex, signal?: AbortSignal): Promise<void>;

  /** Asks the container's log to be written to a new file, after the old one was renamed. */
  reopenLog(id: string): Promise<void>;

  /** Usage of everything that runs. */
  stats(signal?: AbortSignal): Promise<{ sandboxes: SandboxStats[]; containers: ContainerStats[] }>;

  /** Where pods have their addresses, where that is on the machine's own loopback. */
  readonly loopbackRange?: string;
  /** What of the machine's loopback belongs to the node beside that, for what stands in for pods elsewhere. */
  readonly standInRange?: string;

  /** Absent where containers need no images. */
  readonly images?: ImageStore;
}

export interface ExecSyncResult {
  readonly exitCode: number;
  /** Of both streams, one after the other. */
  readonly output: string;
}

export interface ProbeAnswer {
  readonly outcome: "success" | "failure";
  readonly message: string;
}

export interface RuntimeVersion {
  readonly name: string;
  readonly version: string;
}

export interface RuntimeHealth {
  readonly ready: boolean;
  /** Why not, for the node's Ready condition. */
  readonly message?: string;
}

export interface RuntimeSandbox {
  readonly id: string;
  readonly pod: PodIdentity;
  /** Counts the sandboxes of one pod, from 0. */
  readonly attempt: number;
  /** "notReady" once anything of it has gone: its containers are to be stopped and a new sandbox made. */
  readonly state: "ready" | "notReady";
  /** Milliseconds since the epoch, as all times here. */
  readonly createdAt: number;
  /** The pod's addresses; empty on the host's network. */
  readonly addresses: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
  /** Newest first. */
  readonly containers: readonly RuntimeContainer[];
}

export interface RuntimeContainer {
  readonly id: string;
  readonly sandbox: string;
  readonly name: string;
  /** Counts the containers of one name in a pod, from 0: the restart count. */
  readonly attempt: number;
  readonly state: "created" | "running" | "exited" | "unknown";
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly exitCode?: number;
  /** Of an ended one: `Completed`, `Error`, `OOMKilled`, `ContainerCannotRun`. */
  readonly reason?: string;
  readonly message?: string;
  /** As the pod's status gives them: the name that was asked for, and what it meant then. */
  readonly image: string;
  readonly imageId: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absolute path, in the CRI log format. */
  readonly logFile: string;
  /** Effective user, where the runtime tells. */
  readonly user?: { uid: number; gid: number; supplementalGroups: readonly number[] };
  /** Limits in force, where the runtime tells. */
  readonly resources?: ContainerResources;
}
