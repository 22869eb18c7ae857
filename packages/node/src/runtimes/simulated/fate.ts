import { chance } from "./chance.ts";
import type { SettingName, Settings } from "./settings.ts";
import { drawn, type Span } from "./values.ts";

/** Names one start of one container. */
export interface Attempt {
  readonly podUid: string;
  readonly container: string;
  /** Init containers are told only what names them, and do their work at once else; all others run for ever. */
  readonly isInit: boolean;
  readonly attempt: number;
}

/** What becomes of a container that has started; times in milliseconds. */
export interface Fate {
  /** From its start on. */
  readonly readyMs: number;
  readonly exitMs: number;
  readonly exitCode: number;
  readonly exitReason?: string;
  readonly exitMessage?: string;
}

/** How the way to a container's start goes. */
export interface Beginning {
  readonly pullMs: number;
  readonly pullError?: string;
  readonly startMs: number;
  readonly startError?: string;
}

export function fateOf(settings: Settings, of: Attempt): Fate {
  const exitReason = told(settings, of, "exit-reason");
  const exitMessage = told(settings, of, "exit-message");
  const isSpared = draw(of, "exit-probability") >= (told(settings, of, "exit-probability") ?? 1);
  return {
    readyMs: time(settings, of, "ready-delay"),
    exitMs: isSpared ? Number.POSITIVE_INFINITY : time(settings, of, "exit-after", of.isInit ? 0 : Infinity),
    exitCode: told(settings, of, "exit-code") ?? 0,
    ...(exitReason !== undefined && { exitReason }),
    ...(exitMessage !== undefined && { exitMessage }),
  };
}

/** `tries` counts what has gone wrong before. */
export function beginningOf(settings: Settings, of: Attempt, tries: number): Beginning {
  const pullError = failure(settings, of, "pull-error", tries);
  const startError = failure(settings, of, "start-error", tries);
  return {
    // An image that was pulled once is there.
    pullMs: of.attempt === 0 ? time(settings, of, "pull-delay") : 0,
    startMs: time(settings, of, "start-delay"),
    ...(pullError !== undefined && of.attempt === 0 && { pullError }),
    ...(startError !== undefined && { startError }),
  };
}

export function sandboxDelay(settings: Settings, podUid: string): number {
  const delay = settings.get("sandbox-delay");
  return delay === undefined ? 0 : drawn(delay, chance(podUid, "sandbox-delay"));
}

/** How a container ends that is asked to: by itself if it can within its time, else it is killed. */
export function stopOf(settings: Settings, of: Attempt, graceMs: number): { afterMs: number; exitCode: number } {
  const wanted = time(settings, of, "stop-delay");
  if (wanted > graceMs) return { afterMs: graceMs, exitCode: 137 };
  return { afterMs: wanted, exitCode: told(settings, of, "stop-exit-code") ?? 0 };
}

function failure(
  settings: Settings,
  of: Attempt,
  name: "pull-error" | "start-error",
  tries: number,
): string | undefined {
  const message = told(settings, of, name);
  if (message === undefined) return undefined;
  const likely = told(settings, of, `${name}-probability`) ?? 1;
  return draw(of, name, tries) < likely ? message : undefined;
}

function time(settings: Settings, of: Attempt, name: TimeSetting, otherwise = 0): number {
  const span: Span | undefined = told(settings, of, name);
  return span === undefined ? otherwise : drawn(span, draw(of, name));
}

type TimeSetting = "pull-delay" | "start-delay" | "ready-delay" | "exit-after" | "stop-delay";

function told<N extends SettingName>(settings: Settings, { container, isInit }: Attempt, name: N) {
  return isInit ? settings.getOwn(name, container) : settings.get(name, container);
}

function draw({ podUid, container, attempt }: Attempt, ...more: (string | number)[]): number {
  return chance(podUid, container, attempt, ...more);
}
