import { describeError } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { PodFacts } from "../../volumes/pod-volumes.ts";
import { aliveContainers, type ObservedPod } from "../observed-pod.ts";
import { reportedStatus } from "../plan/last-end.ts";
import type { PlanInput, PodEnd } from "../plan/plan-input.ts";
import { type PodAction, type PodPlan, planPod } from "../plan/pod-plan.ts";
import { containersOf, type PodStatus, uidOf } from "../pod-containers.ts";
import { containerIdText } from "../status/container-state.ts";
import { ownConditions } from "../status/pod-conditions.ts";
import { podStatus } from "../status/pod-status.ts";
import type { StatusInput } from "../status/status-input.ts";
import { ContainerStarter } from "./container-starter.ts";
import { ContainerStopper } from "./container-stopper.ts";
import { lastWords } from "./last-words.ts";
import { PodConclusion } from "./pod-conclusion.ts";
import { deadlineOf, endOf } from "./pod-ending.ts";
import { type PodServices, sayer, type WorkerContext } from "./pod-services.ts";
import type { RuntimeView } from "./runtime-view.ts";
import { SandboxKeeper } from "./sandbox-keeper.ts";

export interface PodWorkerOptions extends PodServices {
  readonly pod: Pod;
  readonly view: RuntimeView;
  /** Of the pod's runtime class. */
  readonly handler: string;
  /** What the runtime cannot honour of the pod. */
  readonly objections: readonly string[];
  readonly signal: AbortSignal;
  /** Nothing is left of the pod. */
  readonly onGone: () => void;
}

/** Keeps one pod as its spec says. It looks when woken, one look at a time, and never waits for what it has begun. */
export class PodWorker {
  readonly #options: PodWorkerOptions;
  readonly #starter: ContainerStarter;
  readonly #stopper: ContainerStopper;
  readonly #sandboxes: SandboxKeeper;
  readonly #conclusion: PodConclusion;
  readonly #messages = new Map<string, string>();
  #pod: Pod;
  #status: PodStatus | undefined;
  #end: PodEnd | undefined;
  #isLooking = false;
  #isWoken = false;
  #cancelTimer: () => void = () => {};

  constructor(options: PodWorkerOptions) {
    this.#options = options;
    this.#pod = options.pod;
    const context: WorkerContext = {
      ...options,
      pod: () => this.#pod,
      facts: () => this.#facts(),
      wake: () => this.wake(),
    };
    this.#starter = new ContainerStarter(context, async () => {});
    this.#stopper = new ContainerStopper(context, async () => {});
    this.#sandboxes = new SandboxKeeper(context);
    this.#conclusion = new PodConclusion(context, options.onGone);
    if (options.objections.length > 0) this.#refuse("RuntimeUnsupported", options.objections.join("; "));
  }

  /** The pod with the status that the node last gave it. */
  get pod(): Pod {
    return this.#status === undefined ? this.#pod : { ...this.#pod, status: this.#status };
  }

  get view(): RuntimeView {
    return this.#options.view;
  }

  /** Ends the pod to relieve the node. */
  evict(message: string, graceSeconds: number = this.#pod.spec?.terminationGracePeriodSeconds ?? 30): void {
    if (this.#end !== undefined) return;
    sayer(this.#options, () => this.#pod)("Warning", "Evicted", message);
    this.#end = { cause: "evicted", since: this.#options.clock.now(), graceSeconds, reason: "Evicted", message };
    this.wake();
  }

  /** An object that the pod refers to has changed: what failed for want of it may go well now. */
  retryNow(): void {
    this.#starter.retryNow();
    this.#sandboxes.retryNow();
    this.wake();
  }

  wake(): void {
    this.#isWoken = true;
    if (!this.#isLooking) void this.#lookWhileWoken();
  }

  async #lookWhileWoken(): Promise<void> {
    this.#isLooking = true;
    // What wakes it in the same turn is one reason to look.
    await Promise.resolve();
    while (this.#isWoken && !this.#options.signal.aborted) {
      this.#isWoken = false;
      try {
        await this.#look();
      } catch (error) {
        const { logger, clock } = this.#options;
        logger.error("cannot work on a pod", { pod: uidOf(this.#pod), error: describeError(error) });
        this.#wakeAfter(clock, 5_000);
      }
    }
    this.#isLooking = false;
  }

  async #look(): Promise<void> {
    const { source, view, clock, objects } = this.#options;
    if (!view.isListed) return;
    const found = source.get(uidOf(this.#pod));
    if (found !== undefined && found !== this.#pod) {
      this.#pod = found;
      objects.follow(found);
    }
    const observed = view.get(uidOf(this.#pod));
    await this.#readLastWords(observed);
    const now = clock.now();
    this.#end = endOf(this.#known(), found === undefined, now, this.#end);
    if (this.#end !== undefined) {
      this.#starter.cancel();
      this.#sandboxes.cancel();
    }
    const plan = planPod(this.#planInput(observed, now));
    this.#carryOut(plan.actions);
    this.#report(plan, observed, now);
    this.#conclusion.look(plan.ended, found === undefined, observed);
    const next = Math.min(plan.wakeAt ?? Number.POSITIVE_INFINITY, this.#deadline());
    this.#wakeAfter(clock, next - now);
  }

  #refuse(reason: string, message: string): void {
    sayer(this.#options, () => this.#pod)("Warning", reason, message);
    const whole = `Pod was rejected: ${message}`;
    this.#end = { cause: "refused", since: this.#options.clock.now(), graceSeconds: 0, reason, message: whole };
  }

  #deadline(): number {
    return this.#end === undefined ? (deadlineOf(this.#known()) ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
  }

  #planInput(observed: ObservedPod, now: number): PlanInput {
    const { timing } = this.#options;
    const { retryAt } = this.#sandboxes;
    return {
      pod: this.#known(),
      observed,
      now,
      ...(this.#end && { end: this.#end }),
      starting: this.#starter.starting,
      stopping: this.#stopper.stopping(),
      started: this.#running(observed),
      unwell: new Map(),
      retryAt: this.#starter.retryTimes(),
      sandboxBusy: this.#sandboxes.isBusy,
      ...(retryAt !== undefined && { sandboxRetryAt: retryAt }),
      timing,
    };
  }

  #carryOut(actions: readonly PodAction[]): void {
    const stop: string[] = [];
    const remove: string[] = [];
    for (const action of actions) {
      if (action.do === "start") this.#starter.start(action);
      else if (action.do === "stop") this.#stopper.stop(action);
      else if (action.do === "runSandbox") this.#sandboxes.make(action.attempt);
      else if (action.do === "remove") this.#conclusion.removeContainer(action.container);
      else if (action.do === "stopSandbox") stop.push(action.id);
      else remove.push(action.id);
    }
    if (stop.length + remove.length > 0 && !this.#sandboxes.isBusy) this.#sandboxes.clear(stop, remove);
  }

  #report(plan: PodPlan, observed: ObservedPod, now: number): void {
    const { settings, view, statuses, source } = this.#options;
    const running = this.#running(observed);
    const input: StatusInput = {
      pod: this.#known(),
      observed,
      now,
      waiting: new Map([...this.#starter.waiting(now), ...plan.waiting]),
      started: running,
      ready: running,
      messages: this.#messages,
      ...(this.#end && { end: this.#end }),
      ended: plan.ended,
      hostIPs: settings.hostIPs,
      runtimeName: view.runtimeName,
    };
    this.#status = podStatus(input);
    if (source.get(uidOf(this.#pod)) !== undefined) statuses.set(this.#pod, this.#status);
  }

  #running(observed: ObservedPod): ReadonlySet<string> {
    return new Set(
      aliveContainers(observed)
        .filter(({ state }) => state === "running")
        .map(({ id }) => id),
    );
  }

  /** The pod with the newest status known: the node's own may not have reached the API yet. */
  #known(): Pod {
    if (this.#status === undefined) return this.#pod;
    const isOwn = ({ type }: { type: string }) => ownConditions.includes(type);
    const conditions = [
      ...(this.#status.conditions ?? []).filter(isOwn),
      ...(this.#pod.status?.conditions ?? []).filter((condition) => !isOwn(condition)),
    ];
    return { ...this.#pod, status: { ...this.#pod.status, ...this.#status, conditions } };
  }

  async #readLastWords(observed: ObservedPod): Promise<void> {
    for (const { name, spec } of containersOf(this.#pod)) {
      for (const container of (observed.containers.get(name) ?? []).slice(0, 2)) {
        if (container.state !== "exited" || this.#messages.has(container.id)) continue;
        const reported = this.#reportedMessage(name, container.id);
        const fallsBack = spec.terminationMessagePolicy === "FallbackToLogsOnError";
        this.#messages.set(container.id, reported ?? (await lastWords(container, fallsBack)));
      }
    }
  }

  /** After a restart of the node, the file may be gone that the message came from. */
  #reportedMessage(name: string, id: string): string | undefined {
    const status = reportedStatus(this.#pod, name);
    const whole = containerIdText(this.#options.view.runtimeName, id);
    const ends = [status?.state?.terminated, status?.lastState?.terminated];
    return ends.find((terminated) => terminated?.containerID === whole)?.message;
  }

  #facts(): PodFacts {
    const { settings, view } = this.#options;
    const { sandbox } = view.get(uidOf(this.#pod));
    const podIPs = this.#pod.spec?.hostNetwork ? settings.hostIPs : (sandbox?.addresses ?? []);
    return { podIPs, hostIPs: settings.hostIPs, allocatable: settings.allocatable };
  }

  #wakeAfter(clock: PodServices["clock"], ms: number): void {
    this.#cancelTimer();
    this.#cancelTimer = Number.isFinite(ms) ? clock.after(Math.max(ms, 1), () => this.wake()) : () => {};
  }

  /** Nothing wakes it any more. */
  stop(): void {
    this.#cancelTimer();
  }
}
