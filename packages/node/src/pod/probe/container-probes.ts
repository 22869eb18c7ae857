import type { Clock } from "@fjord/base";
import type { Unwell } from "../plan/plan-input.ts";
import type { Probe } from "../pod-containers.ts";
import type { ProbeResult } from "./probe-result.ts";
import { type ProbedContainer, tryProbe } from "./probe-try.ts";
import { RunningProbe } from "./running-probe.ts";

export interface ContainerProbesOptions extends ProbedContainer {
  readonly startedAt: number;
  /** What was last reported of it, where the node found it running. */
  readonly before: { readonly started: boolean; readonly ready: boolean };
  readonly say: (type: "Normal" | "Warning", reason: string, message: string) => void;
  readonly wake: () => void;
  readonly clock: Clock;
}

type Kind = "Startup" | "Liveness" | "Readiness";

/** The probes of one running container. Startup goes first and alone. */
export class ContainerProbes {
  readonly #options: ContainerProbesOptions;
  #startup: RunningProbe | undefined;
  #liveness: RunningProbe | undefined;
  #readiness: RunningProbe | undefined;
  #isStarted = false;

  constructor(options: ContainerProbesOptions) {
    this.#options = options;
    const { startupProbe } = options.spec;
    if (startupProbe === undefined || options.before.started) this.#begin();
    else this.#startup = this.#run("Startup", startupProbe);
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  get isReady(): boolean {
    return this.#isStarted && (this.#readiness?.verdict ?? this.#options.spec.readinessProbe === undefined);
  }

  /** Why the container has to be replaced. */
  get unwell(): Unwell | undefined {
    const { name, startupProbe, livenessProbe } = this.#options.spec;
    if (this.#startup?.verdict === false) return toReplace(name, "startup", startupProbe);
    if (this.#liveness?.verdict === false) return toReplace(name, "liveness", livenessProbe);
    return undefined;
  }

  /** The container is being stopped: whether it can still serve matters, whether it is well no longer. */
  endLiveness(): void {
    this.#startup?.stop();
    this.#liveness?.stop();
  }

  stop(): void {
    this.endLiveness();
    this.#readiness?.stop();
  }

  #begin(): void {
    const { livenessProbe, readinessProbe } = this.#options.spec;
    this.#isStarted = true;
    if (livenessProbe !== undefined) this.#liveness = this.#run("Liveness", livenessProbe, true);
    if (readinessProbe !== undefined) {
      this.#readiness = this.#run("Readiness", readinessProbe, this.#options.before.ready);
    }
  }

  #run(kind: Kind, probe: Probe, initial?: boolean): RunningProbe {
    const { clock, startedAt, say, runtime, id } = this.#options;
    return new RunningProbe({
      probe,
      startedAt,
      clock,
      ...(initial !== undefined && { initial }),
      attempt: (signal) => runtime.probe?.(id, kind) ?? tryProbe(probe, this.#options, signal),
      onResult: (result) => tell(kind, result, say),
      onVerdict: () => this.#judge(kind),
    });
  }

  #judge(kind: Kind): void {
    if (kind === "Startup" && this.#startup?.verdict === true) {
      this.#startup.stop();
      this.#begin();
    }
    if (this.unwell !== undefined) this.endLiveness();
    this.#options.wake();
  }
}

function tell(kind: Kind, { outcome, message }: ProbeResult, say: ContainerProbesOptions["say"]): void {
  if (outcome === "failure") say("Warning", "Unhealthy", `${kind} probe failed: ${message}`);
  else if (outcome === "error") {
    say("Warning", "Unhealthy", `${kind} probe errored and resulted in unknown state: ${message}`);
  } else if (message !== "") say("Warning", "ProbeWarning", `${kind} probe warning: ${message}`);
}

function toReplace(name: string, kind: string, probe: Probe | undefined): Unwell {
  const graceSeconds = probe?.terminationGracePeriodSeconds;
  const message = `Container ${name} failed ${kind} probe, will be restarted`;
  return { message, ...(graceSeconds !== undefined && { graceSeconds }) };
}
