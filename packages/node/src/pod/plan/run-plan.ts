import type { RuntimeContainer, RuntimeSandbox } from "../../runtime/index.ts";
import { aliveContainers, isAlive, newest } from "../observed-pod.ts";
import { containersOf, type PodContainer, podText } from "../pod-containers.ts";
import { planCleanup } from "./cleanup-plan.ts";
import { isOutdated } from "./definition-change.ts";
import { nextAttempt } from "./last-end.ts";
import type { PlanInput } from "./plan-input.ts";
import type { PodAction, PodPlan, Waiting } from "./pod-plan.ts";
import { delayAfter, nextDelay, restartAt } from "./restart-delay.ts";
import { restartsAfter } from "./restart-policy.ts";
import { isReplaced, type WholeRestart, wholeRestart } from "./whole-restart.ts";

/** Brings up what the pod should have: its sandbox, then init containers one by one, then the main ones. */
export function planRun(input: PlanInput): PodPlan {
  const { sandbox } = input.observed;
  if (sandbox?.state === "ready") return new RunPlan(input, sandbox).make();
  return planSandbox(input, sandbox);
}

function planSandbox(input: PlanInput, old: RuntimeSandbox | undefined): PodPlan {
  const plan = { waiting: new Map(), ended: false };
  if (input.sandboxBusy || input.starting.size > 0) return { ...plan, actions: [] };
  const { sandboxRetryAt = 0, heldUntil = 0, now } = input;
  const notBefore = Math.max(sandboxRetryAt, heldUntil);
  if (notBefore > now) return { ...plan, actions: [], wakeAt: notBefore };
  const remains = input.observed.sandboxes.filter(
    ({ state, containers }) => state === "ready" || containers.some(isAlive),
  );
  if (remains.length > 0) return { ...plan, actions: remains.map(({ id }) => ({ do: "stopSandbox", id })) };
  return { ...plan, actions: [{ do: "runSandbox", attempt: (old?.attempt ?? -1) + 1 }] };
}

/** The plan of a pod whose sandbox stands. */
class RunPlan {
  readonly #input: PlanInput;
  readonly #sandbox: RuntimeSandbox;
  readonly #actions: PodAction[] = [];
  readonly #waiting = new Map<string, Waiting>();
  readonly #restart: WholeRestart | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(input: PlanInput, sandbox: RuntimeSandbox) {
    this.#input = input;
    this.#sandbox = sandbox;
    this.#restart = wholeRestart(input.pod, input.observed);
  }

  make(): PodPlan {
    const containers = containersOf(this.#input.pod);
    for (const container of containers) this.#replaceUnwell(container);
    this.#stopStrays(containers);
    if (this.#isCleared()) this.#bringUp(containers);
    const cleanup = planCleanup(this.#input);
    this.#actions.push(...cleanup.actions);
    if (cleanup.wakeAt !== undefined) this.#wakeAt = Math.min(this.#wakeAt, cleanup.wakeAt);
    return {
      actions: this.#actions,
      waiting: this.#waiting,
      ended: false,
      ...(Number.isFinite(this.#wakeAt) && { wakeAt: this.#wakeAt }),
    };
  }

  #bringUp(containers: PodContainer[]): void {
    for (const container of containers) if (container.role === "ephemeral") this.#keep(container);
    if (!this.#initialize(containers)) return;
    for (const container of containers) if (container.role === "main") this.#keep(container);
  }

  /** Where a container restarts the whole pod: true once everything from before has ended, and the time has come. */
  #isCleared(): boolean {
    const { observed, stopping, pod, now, timing } = this.#input;
    const restart = this.#restart;
    if (restart === undefined) return true;
    const old = aliveContainers(observed).filter((container) => isReplaced(container, restart));
    for (const container of old) {
      if (stopping.has(container.id)) continue;
      const graceSeconds = pod.spec?.terminationGracePeriodSeconds ?? 30;
      const message = `Stopping container ${container.name}: ${restart.trigger.name} restarts all containers of the pod`;
      this.#actions.push({ do: "stop", container, graceSeconds, message });
    }
    if (old.length > 0) return false;
    const until = restartAt(restart.trigger, timing);
    if (newest(observed, restart.trigger.name) !== restart.trigger || until <= now) return true;
    this.#backOff(restart.trigger, until);
    return false;
  }

  /** Takes the next step of the initialization; true once main containers may run. */
  #initialize(containers: PodContainer[]): boolean {
    const isBegun = containers.some(({ role, name }) => role === "main" && this.#current(name) !== undefined);
    for (const container of containers) {
      if (container.role === "sidecar") {
        this.#keep(container);
        if (!isBegun && !this.#isStarted(container)) return false;
      }
      if (container.role === "init" && !isBegun && !this.#isDone(container)) {
        this.#keep(container);
        return false;
      }
    }
    return true;
  }

  /** Starts the container unless it runs, is about to, has done its work, or has to wait. */
  #keep(container: PodContainer): void {
    const { pod, observed, now, starting, retryAt, stopping, timing } = this.#input;
    const { name } = container;
    if (starting.has(name)) return;
    const last = newest(observed, name);
    if (last !== undefined && isAlive(last)) return;
    if (last?.state === "created") {
      // Made by a process of the node that died before it could start it.
      if (!stopping.has(last.id)) this.#actions.push({ do: "remove", container: last });
      return;
    }
    if (last !== undefined && this.#isOver(container, last)) return;
    // Another image may do better: what the one before did is not held against it.
    const isNew = last === undefined || changed(container, last) !== undefined;
    const backedOffUntil = isNew ? 0 : restartAt(last, timing);
    if (last !== undefined && backedOffUntil > now) {
      this.#backOff(last, backedOffUntil);
      return;
    }
    const notBefore = retryAt.get(name) ?? 0;
    if (notBefore > now) {
      this.#wake(notBefore);
      return;
    }
    const attempt = nextAttempt(pod, observed, name);
    const restartDelay = isNew && last !== undefined ? timing.initial : nextDelay(last, timing);
    this.#actions.push({ do: "start", container, attempt, restartDelay });
  }

  #backOff(last: RuntimeContainer, until: number): void {
    const { pod, timing } = this.#input;
    const seconds = formatSeconds(delayAfter(last, timing) / 1000);
    const message = `back-off ${seconds} restarting failed container=${last.name} pod=${podText(pod)}`;
    this.#waiting.set(last.name, { reason: "CrashLoopBackOff", message });
    this.#wake(until);
  }

  /** An ended container that is not to be followed by another. */
  #isOver(container: PodContainer, last: RuntimeContainer): boolean {
    // A new sandbox begins with its init containers again.
    if (container.role === "init" && last.sandbox !== this.#sandbox.id) return false;
    if (container.role !== "ephemeral" && isReplaced(last, this.#restart)) return false;
    return !restartsAfter(this.#input.pod, container, last.exitCode ?? 1);
  }

  #replaceUnwell(container: PodContainer): void {
    const { unwell, stopping, observed, pod } = this.#input;
    const last = newest(observed, container.name);
    if (last === undefined || !isAlive(last) || stopping.has(last.id)) return;
    const reason = unwell.get(last.id) ?? changed(container, last) ?? lostTrack(last);
    if (reason === undefined) return;
    const graceSeconds = reason.graceSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 30;
    this.#actions.push({ do: "stop", container: last, graceSeconds, message: reason.message });
  }

  /** What runs beside the newest of its name, or under a name that the pod does not have. */
  #stopStrays(containers: PodContainer[]): void {
    const { observed, stopping } = this.#input;
    const names = new Set(containers.map(({ name }) => name));
    for (const [name, found] of observed.containers) {
      for (const container of found.slice(names.has(name) ? 1 : 0)) {
        if (!isAlive(container) || stopping.has(container.id)) continue;
        const message = `Stopping container ${name}`;
        this.#actions.push({ do: "stop", container, graceSeconds: 0, message });
      }
    }
  }

  #current(name: string): RuntimeContainer | undefined {
    const last = newest(this.#input.observed, name);
    if (last === undefined || isReplaced(last, this.#restart)) return undefined;
    return last.sandbox === this.#sandbox.id ? last : undefined;
  }

  #isStarted({ name }: PodContainer): boolean {
    const { started, unwell, stopping } = this.#input;
    const current = this.#current(name);
    if (current?.state !== "running" || unwell.has(current.id) || stopping.has(current.id)) return false;
    return started.has(current.id);
  }

  #isDone({ name }: PodContainer): boolean {
    const current = this.#current(name);
    return current?.state === "exited" && current.exitCode === 0;
  }

  #wake(at: number): void {
    this.#wakeAt = Math.min(this.#wakeAt, at);
  }
}

function changed(
  container: PodContainer,
  last: RuntimeContainer,
): { message: string; graceSeconds?: number } | undefined {
  if (!isOutdated(container, last)) return undefined;
  return { message: `Container ${container.name} definition changed, will be restarted` };
}

function lostTrack(last: RuntimeContainer): { message: string; graceSeconds?: number } | undefined {
  if (last.state !== "unknown") return undefined;
  return { message: `Container ${last.name} is in an unknown state, will be restarted` };
}

/** `10s`, `2m40s`: as Go prints durations. */
export function formatSeconds(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`;
}
