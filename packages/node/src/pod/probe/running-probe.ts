import type { Clock } from "@fjord/base";
import type { Probe } from "../pod-containers.ts";
import type { ProbeResult } from "./probe-result.ts";
import { ProbeTally } from "./probe-tally.ts";

export interface RunningProbeOptions {
  readonly probe: Probe;
  /** When the container started. */
  readonly startedAt: number;
  /** What holds before the first tries. */
  readonly initial?: boolean;
  readonly attempt: (signal: AbortSignal) => Promise<ProbeResult>;
  /** Told of each try. */
  readonly onResult: (result: ProbeResult) => void;
  /** Told when the verdict has changed. */
  readonly onVerdict: () => void;
  readonly clock: Clock;
}

/** Tries one probe of one container again and again. */
export class RunningProbe {
  readonly #options: RunningProbeOptions;
  readonly #tally: ProbeTally;
  #cancelTimer: () => void = () => {};
  #controller: AbortController | undefined;
  #isStopped = false;

  constructor(options: RunningProbeOptions) {
    this.#options = options;
    const { successThreshold = 1, failureThreshold = 3 } = options.probe;
    this.#tally = new ProbeTally({ success: successThreshold, failure: failureThreshold }, options.initial);
    const { clock, probe, startedAt } = options;
    this.#schedule(startedAt + (probe.initialDelaySeconds ?? 0) * 1000 - clock.now());
  }

  get verdict(): boolean | undefined {
    return this.#tally.verdict;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#controller?.abort();
  }

  #schedule(ms: number): void {
    if (!this.#isStopped) this.#cancelTimer = this.#options.clock.after(ms, () => void this.#try());
  }

  async #try(): Promise<void> {
    const { clock, probe, attempt, onResult, onVerdict } = this.#options;
    const began = clock.now();
    const controller = new AbortController();
    this.#controller = controller;
    const cancelTimeout = clock.after((probe.timeoutSeconds ?? 1) * 1000, () => controller.abort());
    const result = await attempt(controller.signal);
    cancelTimeout();
    if (this.#isStopped) return;
    onResult(result);
    // What could not be tried tells nothing; readiness and liveness stay what they were.
    if (result.outcome !== "error" && this.#tally.count(result.outcome === "success")) onVerdict();
    this.#schedule(began + (probe.periodSeconds ?? 10) * 1000 - clock.now());
  }
}
