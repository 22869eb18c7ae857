import type { Duplex } from "node:stream";
import { aborted, type Clock } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { ContainerAddress, KubeletBackend, LogRequest } from "../kubelet-api/backend.ts";
import { ContainerWaiting, NoPreviousContainer } from "../kubelet-api/errors.ts";
import type { Summary } from "../kubelet-api/summary.ts";
import { logText, SimulatedFailure } from "../runtimes/simulated/index.ts";
import type { CommandStreams } from "../stream/command-streams.ts";
import type { FleetNode } from "./fleet-node.ts";
import type { FleetPods, LivingPod } from "./fleet-pods.ts";
import { fleetSummary } from "./fleet-summary.ts";
import type { LivedContainer } from "./pod-life.ts";

export interface FleetBackendOptions {
  readonly node: FleetNode;
  readonly pods: FleetPods;
  readonly clock: Clock;
}

/** Serves the kubelet API of one simulated node. */
export class FleetBackend implements KubeletBackend {
  readonly #options: FleetBackendOptions;

  constructor(options: FleetBackendOptions) {
    this.#options = options;
  }

  pods(): readonly Pod[] {
    return this.#pods().map(({ pod, status }) => ({ ...pod, status: status() }));
  }

  healthy(): void {
    if (!this.#options.node.isReady) throw new SimulatedFailure({ message: "the simulation says so" });
  }

  async summary(): Promise<Summary> {
    return fleetSummary(this.#options.node.name, this.#pods(), this.#options.clock.now());
  }

  async logs(address: ContainerAddress, request: LogRequest, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const found = this.#pods().find(({ pod }) => isMeant(pod, address));
    const lived = (found?.life.containers ?? []).filter(({ name }) => name === address.container);
    const container = lived[request.previous ? 1 : 0];
    if (found !== undefined && container !== undefined) return logOf(found, container, request, signal);
    if (request.previous) throw new NoPreviousContainer(address);
    throw new ContainerWaiting({ ...address, reason: "ContainerCreating" });
  }

  async exec(address: ContainerAddress, command: readonly string[], streams: CommandStreams): Promise<number> {
    const { container } = address;
    say(streams, `nothing runs in container ${container}; the command would be ${JSON.stringify(command)}`);
    const found = this.#pods().find(({ pod }) => isMeant(pod, address));
    return found?.settings.get("exec-exit-code", container) ?? 0;
  }

  async attach({ container }: ContainerAddress, streams: CommandStreams): Promise<void> {
    say(streams, `nothing runs in container ${container}`);
  }

  async portForward(pod: Omit<ContainerAddress, "container">, port: number, stream: Duplex): Promise<void> {
    stream.destroy();
    throw new SimulatedFailure({ message: `nothing listens on port ${port} of the simulated pod ${pod.pod}` });
  }

  #pods(): LivingPod[] {
    return this.#options.pods.on(this.#options.node.name);
  }
}

function say(streams: CommandStreams, text: string): void {
  streams.stdout?.end(`simulated: ${text}${streams.tty ? "\r\n" : "\n"}`);
  streams.stderr?.end();
}

async function* logOf(
  { pod, settings }: LivingPod,
  { name, startedAt }: LivedContainer,
  request: LogRequest,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { namespace = "", name: podName = "" } = pod.metadata;
  const lines = logText(settings, name, { namespace, name: podName }).split("\n");
  const since = startedAt >= (request.since ?? 0) ? lines : [];
  const { tailLines = since.length, limitBytes } = request;
  const wanted = tailLines === 0 ? [] : since.slice(-tailLines);
  const stamp = request.timestamps ? `${new Date(startedAt).toISOString()} ` : "";
  const bytes = Buffer.from(wanted.map((line) => `${stamp}${line}\n`).join(""));
  if (request.stream !== "stderr") yield limitBytes === undefined ? bytes : bytes.subarray(0, limitBytes);
  // No more will come, but the container does not end for that.
  if (request.follow) await aborted(signal);
}

function isMeant({ metadata }: Pod, { namespace, pod, uid }: ContainerAddress): boolean {
  return metadata.namespace === namespace && metadata.name === pod && (uid ?? metadata.uid) === metadata.uid;
}
