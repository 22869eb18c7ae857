import type { Pod } from "@fjord/kube";
import { annotations } from "../pod/annotations.ts";
import type { ObservedPod } from "../pod/observed-pod.ts";
import type { PlanInput } from "../pod/plan/plan-input.ts";
import { type PodAction, type PodPlan, planPod, type Waiting } from "../pod/plan/pod-plan.ts";
import type { RestartTiming } from "../pod/plan/restart-delay.ts";
import { containerOf, containersOf, type PodStatus } from "../pod/pod-containers.ts";
import { podStatus } from "../pod/status/pod-status.ts";
import { deadlineOf, endOf } from "../pod/worker/pod-ending.ts";
import { unsupportedContainers } from "../pod/worker/pod-hold.ts";
import type { RuntimeContainer, RuntimeSandbox } from "../runtime/index.ts";
import { beginningOf, fateOf, type Settings, sandboxDelay, stopOf } from "../runtimes/simulated/index.ts";
import type { Failure, LivedContainer, PodLife, Start } from "./pod-life.ts";

export interface SimulationInput {
  /** With the newest status that the API is known to have. */
  readonly pod: Pod;
  /** Is changed. */
  readonly life: PodLife;
  readonly settings: Settings;
  /** What of the settings cannot be understood. */
  readonly objections: readonly string[];
  readonly now: number;
  readonly hostIPs: readonly string[];
  /** An address for the pod. */
  readonly takeAddress: () => string;
  readonly timing: RestartTiming;
}

export interface SimulationResult {
  readonly status: PodStatus;
  /** When to look again even if nothing has happened by then; Infinity: never. */
  readonly wakeAt: number;
  /** Nothing of the pod runs, and nothing will. */
  readonly ended: boolean;
}

export const RUNTIME_NAME = "simulated";
/** When a status passes from what went wrong to what is waited for. */
const LATER_MS = 2_000;
/** No pod has so much to do at one time. */
const MOST_STEPS = 1_000;

/** Lets a pod live up to now. What it should do next is planned by the same functions as for a pod that really runs. */
export function simulatePod(input: SimulationInput): SimulationResult {
  return new PodSimulation(input).run();
}

/** Names a container for its status: the same in every process that simulates the pod. */
export function containerId(uid: string, { name, attempt }: Pick<LivedContainer, "name" | "attempt">): string {
  return `${uid}-${name}-${attempt}`;
}

class PodSimulation {
  readonly #input: SimulationInput;
  readonly #life: PodLife;

  constructor(input: SimulationInput) {
    this.#input = input;
    this.#life = input.life;
  }

  run(): SimulationResult {
    const { pod, now } = this.#input;
    const life = this.#life;
    const end = endOf(pod, false, now, life.end);
    if (end !== undefined) life.end = end;
    if (life.end !== undefined) this.#giveUp();
    for (let step = 0; step < MOST_STEPS; step++) {
      this.#settle();
      const observed = this.#observe();
      const plan = planPod(this.#planInput(observed));
      if (!this.#carryOut(plan.actions)) return this.#result(plan, observed);
    }
    throw new Error("the pod comes to no rest");
  }

  /** A pod that cannot be understood does not begin: it waits until its annotations can be. */
  get #isHeld(): boolean {
    const { sandbox, sandboxAt } = this.#life;
    return this.#input.objections.length > 0 && sandbox === undefined && sandboxAt === undefined;
  }

  /** A pod that is to end begins nothing more. */
  #giveUp(): void {
    const life = this.#life;
    if (life.starts !== undefined) life.starts = [];
    if (life.failures !== undefined) life.failures = new Map();
    if (life.sandboxAt !== undefined && life.sandboxAt > this.#input.now) life.sandboxAt = undefined;
  }

  /** What has fallen due by now has happened when it fell due. */
  #settle(): void {
    const life = this.#life;
    const { now, pod, takeAddress } = this.#input;
    if (life.sandboxAt !== undefined && life.sandboxAt <= now) {
      const address = pod.spec?.hostNetwork ? "" : takeAddress();
      life.sandbox = { createdAt: life.sandboxAt, address, isStopped: false };
      life.sandboxAt = undefined;
    }
    for (const stop of life.stops ?? []) if (stop.at <= now) finish(stop.container, stop.at, stop.exitCode);
    if (life.stops !== undefined) life.stops = life.stops.filter(({ container }) => isRunning(container));
    for (const start of life.starts ?? []) if (start.at <= now) this.#begin(start);
    if (life.starts !== undefined) life.starts = life.starts.filter(({ at }) => at > now);
    for (const container of life.containers) if (isRunning(container)) this.#exit(container);
    // Nothing is kept that a pod at rest has no use for: there are tens of thousands of them.
    if (life.starts?.length === 0) life.starts = undefined;
    if (life.stops?.length === 0) life.stops = undefined;
    if (life.failures?.size === 0) life.failures = undefined;
  }

  #begin({ name, attempt, restartDelay, at, problem }: Start): void {
    const life = this.#life;
    if (problem === undefined) {
      life.failures?.delete(name);
      life.containers.unshift({ name, attempt, startedAt: at, ...(restartDelay > 0 && { restartDelay }) });
      return;
    }
    const count = (life.failures?.get(name)?.count ?? 0) + 1;
    const [initial, max] = problem.later === undefined ? [2_000, 10_000] : [10_000, 300_000];
    const retryAt = at + Math.min(max, initial * 2 ** Math.min(count - 1, 16));
    life.failures ??= new Map();
    life.failures.set(name, { problem, count, at, retryAt });
  }

  #exit(container: LivedContainer): void {
    const fate = this.#fate(container);
    const at = container.startedAt + fate.exitMs;
    if (at > this.#input.now) return;
    finish(container, at, fate.exitCode, fate.exitReason);
    if (fate.exitMessage !== undefined) container.message = fate.exitMessage;
  }

  /** Does what the plan says, or sets a time for it; false where there was nothing to do at once. */
  #carryOut(actions: readonly PodAction[]): boolean {
    for (const action of actions) {
      if (action.do === "start") this.#start(action);
      else if (action.do === "stop") this.#stop(action);
      else if (action.do === "runSandbox") this.#makeSandbox();
      else if (action.do === "remove") this.#remove(action.container);
      else if (action.do === "stopSandbox" && this.#life.sandbox) this.#life.sandbox.isStopped = true;
      else if (action.do === "removeSandbox") this.#life.sandbox = undefined;
    }
    return actions.length > 0;
  }

  #makeSandbox(): void {
    const { settings, now } = this.#input;
    const error = settings.get("sandbox-error");
    this.#life.sandboxAt = error === undefined ? now + sandboxDelay(settings, this.#life.uid) : Infinity;
  }

  #start({ container, attempt, restartDelay }: Extract<PodAction, { do: "start" }>): void {
    const { settings, now } = this.#input;
    const { name } = container;
    const life = this.#life;
    const tries = life.failures?.get(name)?.count ?? 0;
    const of = { podUid: life.uid, container: name, isInit: container.role === "init", attempt };
    const { pullMs, pullError, startMs, startError } = beginningOf(settings, of, tries);
    const image = container.spec.image ?? "";
    const start = { name, attempt, restartDelay, at: now + pullMs + (pullError === undefined ? startMs : 0) };
    life.starts ??= [];
    if (pullError !== undefined) {
      const message = `failed to pull image "${image}": ${pullError}`;
      const later = { reason: "ImagePullBackOff", message: `Back-off pulling image "${image}": ${pullError}` };
      life.starts.push({ ...start, problem: { reason: "ErrImagePull", message, later } });
    } else if (startError !== undefined) {
      life.starts.push({ ...start, problem: { reason: "RunContainerError", message: startError } });
    } else life.starts.push(start);
  }

  #stop({ container, graceSeconds }: Extract<PodAction, { do: "stop" }>): void {
    const { settings, now } = this.#input;
    const life = this.#life;
    const lived = life.containers.find(({ name, attempt }) => isSame(container, name, attempt));
    if (lived === undefined) return;
    const { afterMs, exitCode } = stopOf(settings, this.#attempt(lived), graceSeconds * 1000);
    const others = (life.stops ?? []).filter((stop) => stop.container !== lived);
    life.stops = [...others, { container: lived, at: now + afterMs, killAt: now + graceSeconds * 1000, exitCode }];
  }

  #remove(gone: RuntimeContainer): void {
    this.#life.containers = this.#life.containers.filter(({ name, attempt }) => !isSame(gone, name, attempt));
  }

  #result(plan: PodPlan, observed: ObservedPod): SimulationResult {
    const { pod, now, hostIPs } = this.#input;
    const life = this.#life;
    const running = life.containers.filter(isRunning);
    const alive = new Set(running.map((container) => containerId(life.uid, container)));
    const ready = running.filter((container) => container.startedAt + this.#fate(container).readyMs <= now);
    const status = podStatus({
      pod,
      observed,
      now,
      waiting: new Map([...this.#held(), ...this.#failed(), ...plan.waiting]),
      running: alive,
      started: alive,
      ready: new Set(ready.map((container) => containerId(life.uid, container))),
      messages: new Map(),
      resources: (name) => {
        const resources = containerOf(pod, name)?.spec.resources ?? {};
        return { granted: resources, given: resources };
      },
      conditions: [],
      ...(life.end && { end: life.end }),
      ended: plan.ended,
      hostIPs,
      runtimeName: RUNTIME_NAME,
    });
    const wakeAt = Math.min(plan.wakeAt ?? Infinity, this.#nextTime(running));
    return { status, wakeAt, ended: plan.ended };
  }

  #held(): Map<string, Waiting> {
    const { pod, objections } = this.#input;
    return this.#isHeld ? unsupportedContainers(pod, objections.join("; ")) : new Map();
  }

  #failed(): [string, Failure["problem"]][] {
    const { now } = this.#input;
    return [...(this.#life.failures ?? [])].map(([name, { problem, at }]) => {
      const { later } = problem;
      return [name, later !== undefined && now - at >= LATER_MS ? later : problem];
    });
  }

  #nextTime(running: readonly LivedContainer[]): number {
    const { pod, now } = this.#input;
    const { sandboxAt = Infinity, starts = [], stops = [], failures = new Map(), end } = this.#life;
    const lives = running.flatMap((container) => {
      const { exitMs, readyMs } = this.#fate(container);
      return [container.startedAt + exitMs, container.startedAt + readyMs];
    });
    const waits = [...(failures.values() as Iterable<Failure>)].flatMap(({ at, retryAt }) => [at + LATER_MS, retryAt]);
    const deadline = end === undefined ? (deadlineOf(pod) ?? Infinity) : Infinity;
    const times = [sandboxAt, deadline, ...[...starts, ...stops].map(({ at }) => at), ...lives, ...waits];
    return Math.min(...times.filter((time) => time > now));
  }

  #planInput(observed: ObservedPod): PlanInput {
    const { pod, now, timing } = this.#input;
    const { uid, containers, end, starts = [], stops = [], failures = new Map(), sandboxAt } = this.#life;
    return {
      pod,
      observed,
      now,
      ...(end && { end }),
      starting: new Set(starts.map(({ name }) => name)),
      stopping: new Map(stops.map(({ container, killAt }) => [containerId(uid, container), killAt])),
      started: new Set(containers.filter(isRunning).map((container) => containerId(uid, container))),
      unwell: new Map(),
      retryAt: new Map([...(failures as Map<string, Failure>)].map(([name, { retryAt }]) => [name, retryAt])),
      sandboxBusy: sandboxAt !== undefined,
      ...(this.#isHeld && { heldUntil: Infinity }),
      timing,
    };
  }

  /** The life in the form that plans and statuses are made from. */
  #observe(): ObservedPod {
    const { uid, sandbox: lived, containers } = this.#life;
    if (lived === undefined) return { sandboxes: [], containers: new Map() };
    const { name = "", namespace = "" } = this.#input.pod.metadata;
    const seen = containers.map((container) => this.#runtimeContainer(container));
    const byName = new Map<string, RuntimeContainer[]>();
    for (const container of seen) {
      const others = byName.get(container.name);
      if (others === undefined) byName.set(container.name, [container]);
      else others.push(container);
    }
    const sandbox: RuntimeSandbox = {
      id: uid,
      pod: { uid, name, namespace },
      attempt: 0,
      state: lived.isStopped ? "notReady" : "ready",
      createdAt: lived.createdAt,
      addresses: lived.address === "" ? [] : [lived.address],
      annotations: {},
      containers: seen,
    };
    return { sandboxes: [sandbox], sandbox, containers: byName };
  }

  #runtimeContainer(container: LivedContainer): RuntimeContainer {
    const { uid } = this.#life;
    const { name, attempt, startedAt, finishedAt, exitCode, reason, message, restartDelay } = container;
    const image = containerOf(this.#input.pod, name)?.spec.image ?? "";
    return {
      id: containerId(uid, container),
      sandbox: uid,
      name,
      attempt,
      state: finishedAt === undefined ? "running" : "exited",
      createdAt: startedAt,
      startedAt,
      ...(finishedAt !== undefined && { finishedAt }),
      ...(exitCode !== undefined && { exitCode }),
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      image,
      imageId: image,
      annotations: restartDelay === undefined ? {} : { [annotations.restartDelay]: String(restartDelay) },
      logFile: "",
    };
  }

  #fate(container: LivedContainer) {
    return fateOf(this.#input.settings, this.#attempt(container));
  }

  #attempt({ name, attempt }: LivedContainer) {
    const isInit = containersOf(this.#input.pod).some((other) => other.name === name && other.role === "init");
    return { podUid: this.#life.uid, container: name, isInit, attempt };
  }
}

function finish(container: LivedContainer, at: number, exitCode: number, reason?: string): void {
  container.finishedAt = at;
  container.exitCode = exitCode;
  container.reason = reason ?? (exitCode === 0 ? "Completed" : "Error");
}

function isRunning({ finishedAt }: LivedContainer): boolean {
  return finishedAt === undefined;
}

function isSame(container: RuntimeContainer, name: string, attempt: number): boolean {
  return container.name === name && container.attempt === attempt;
}
