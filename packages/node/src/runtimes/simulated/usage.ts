import { chance } from "./chance.ts";
import type { Settings } from "./settings.ts";
import type { Span } from "./values.ts";

export interface SimulatedUsage {
  /** Processors in use now. */
  readonly processors: number;
  /** Since the container's start. */
  readonly cpuNanoseconds: number;
  readonly memoryBytes: number;
}

export interface UsageOf {
  readonly settings: Settings;
  readonly podUid: string;
  readonly container: string;
  readonly startedAt: number;
  /** What it uses where nobody says otherwise: processors, bytes. */
  readonly requests: { readonly cpu?: number; readonly memory?: number };
}

const PERIOD_MS = 60_000;
const LITTLE_CPU = 0.001;
const LITTLE_MEMORY = 2 ** 20;

/** What a container uses at a time: a function of nothing else, so that it is the same whoever asks, and after restarts. */
export function usageAt(now: number, { settings, podUid, container, startedAt, requests }: UsageOf): SimulatedUsage {
  const period = settings.get("usage-period", container)?.low || PERIOD_MS;
  const phase = 2 * Math.PI * chance(podUid, container, "usage");
  const angle = (at: number) => (2 * Math.PI * at) / period + phase;
  const cpu = settings.get("cpu", container) ?? constant(requests.cpu ?? LITTLE_CPU);
  const memory = settings.get("memory", container) ?? constant(requests.memory ?? LITTLE_MEMORY);
  const { middle, swing } = waveOf(cpu);
  const lived = Math.max(0, now - startedAt);
  // The integral of the wave, so that the rate which others compute from it is the wave again.
  const waved = swing * (period / (2 * Math.PI)) * (Math.cos(angle(startedAt)) - Math.cos(angle(startedAt + lived)));
  const { middle: memoryMiddle, swing: memorySwing } = waveOf(memory);
  return {
    processors: middle + swing * Math.sin(angle(startedAt + lived)),
    cpuNanoseconds: Math.max(0, (middle * lived + waved) * 1e6),
    memoryBytes: Math.round(memoryMiddle + memorySwing * Math.sin(angle(startedAt + lived))),
  };
}

function constant(value: number): Span {
  return { low: value, high: value };
}

function waveOf({ low, high }: Span): { middle: number; swing: number } {
  return { middle: (low + high) / 2, swing: (high - low) / 2 };
}
