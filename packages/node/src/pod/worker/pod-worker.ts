import { describeError } from "@fjord/base";
import { type Pod, sameContent } from "@fjord/kube";
import type { Refusal } from "../../resources/node-ledger.ts";
import type { RuntimeContainer } from "../../runtime/index.ts";
import type { PodFacts } from "../../volumes/pod-volumes.ts";
import { PodHooks } from "../hook/pod-hooks.ts";
import { aliveContainers, newest, type ObservedPod } from "../observed-pod.ts";
import { reportedStatus } from "../plan/last-end.ts";
import type { PlanInput, PodEnd } from "../plan/plan-input.ts";
import { type PodAction, type PodPlan, planPod } from "../plan/pod-plan.ts";
import { containerOf, containersOf, type PodStatus, podText, uidOf } from "../pod-containers.ts";
import { PodProbes } from "../probe/pod-probes.ts";
import { PodResizer } from "../resize/pod-resizer.ts";
import { containerIdText } from "../status/container-state.ts";
import { ownConditions } from "../status/pod-conditions.ts";
import { podStatus } from "../status/pod-status.ts";
import type { StatusInput } from "../status/status-input.ts";
import { ContainerStarter } from "./container-starter.ts";
import { ContainerStopper, type StopAction } from "./container-stopper.ts";
import { lastWords } from "./last-words.ts";
import { PodConclusion } from "./pod-conclusion.ts";
import { deadlineOf, endOf } from "./pod-ending.ts";
import { type PodServices, type Say, sayer, type WorkerContext } from "./pod-services.ts";
import type { RuntimeView } from "./runtime-view.ts";
import { SandboxKeeper } from "./sandbox-keeper.ts";
import { VolumeKeeper } from "./volume-keeper.ts";

export interface PodWorkerOptions extends PodServices {
  readonly pod: Pod;
  readonly view: RuntimeView;
  /** Of the pod's runtime class. */
  readonly handler: string;
  /** Why the pod may not run here. */
  readonly refusal?: Refusal;
  readonly signal: AbortSignal;
  /** Nothing is left of the pod. */
  readonly onGone: () => void;
}

/** Keeps one pod as its spec says. It looks when woken, one look at a time, and never waits for what it has begun. */
export class PodWorker {
  readonly #options: PodWorkerOptions;
  readonly #say: Say;
  readonly #starter: ContainerStarter;
  readonly #stopper: ContainerStopper;
  readonly #sandboxes: SandboxKeeper;
  readonly #conclusion: PodConclusion;
  readonly #probes: PodProbes;
  readonly #hooks: PodHooks;
  readonly #volumes: VolumeKeeper;
  readonly #resizer: PodResizer;
  readonly #messages = new Map<string, string>();
  /** Ids of ended containers of which it was told that the next has to wait. */
  readonly #toldBackOff = new Set<string>();
  /** As the source gave it. */
  #given: Pod;
  /** With what it was granted in place of what it asks for. */
  #pod: Pod;
  #status: PodStatus | undefined;
  #end: PodEnd | undefined;
  #isLooking = false;
  #isWoken = false;
  #cancelTimer: () => void = () => {};

  constructor(options: PodWorkerOptions) {
    this.#options = options;
    this.#given = options.pod;
    this.#pod = options.pod;
    const context: WorkerContext = {
      ...options,
      pod: () => this.#pod,
      facts: () => this.#facts(),
      wake: () => this.wake(),
    };
    this.#say = sayer(options, () => this.#pod);
    this.#probes = new PodProbes(context);
    this.#hooks = new PodHooks(context);
    this.#volumes = new VolumeKeeper(context);
    this.#starter = new ContainerStarter(context, this.#volumes, (...args) => this.#hooks.afterStart(...args));
    this.#stopper = new ContainerStopper(context, (...args) => this.#hooks.beforeStop(...args));
    this.#sandboxes = new SandboxKeeper(context, this.#volumes);
    this.#conclusion = new PodConclusion(context, options.onGone);
    this.#resizer = new PodResizer(context);
    if (options.refusal !== undefined) this.#refuse(options.refusal);
  }

  /** The pod with the status that the node last gave it. */
  get pod(): Pod {
    return this.#status === undefined ? this.#given : { ...this.#given, status: this.#status };
  }

  get view(): RuntimeView {
    return this.#options.view;
  }

  /** Ends the pod to relieve the node. */
  evict(message: string, graceSeconds: number = this.#pod.spec?.terminationGracePeriodSeconds ?? 30): void {
    if (this.#end !== undefined) return;
    this.#say("Warning", "Evicted", message);
    this.#end = { cause: "evicted", since: this.#options.clock.now(), graceSeconds, reason: "Evicted", message };
    this.wake();
  }

  /** The node has more to give than before. */
  roomMade(): void {
    if (this.#resizer.isPending) this.wake();
  }

  /** Brings what has changed into the pod's volumes. */
  refreshVolumes(): void {
    const { sandbox } = this.#options.view.get(uidOf(this.#pod));
    if (sandbox?.state === "ready" && this.#end === undefined) this.#volumes.refresh();
  }

  /** An object that the pod refers to has changed: what failed for want of it may go well now. */
  objectChanged(): void {
    this.refreshVolumes();
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
    const { source, view, clock, ledger } = this.#options;
    if (!view.isListed) return void view.refresh().then(() => this.wake());
    const found = source.get(uidOf(this.#pod));
    const observed = view.get(uidOf(this.#pod));
    if (found !== undefined) await this.#take(found, observed);
    this.#forgetOld(observed);
    await this.#readLastWords(observed);
    const now = clock.now();
    this.#end = endOf(this.#known(), found === undefined, now, this.#end);
    if (this.#end !== undefined) {
      this.#starter.cancel();
      this.#sandboxes.cancel();
    }
    const running = this.#running(observed);
    this.#probes.follow(running, this.#end !== undefined);
    if (this.#end === undefined) this.#resizer.apply(this.#pod, running, observed.sandbox);
    const plan = planPod(this.#planInput(observed, now));
    if (plan.ended) ledger.leave(uidOf(this.#pod));
    this.#carryOut(plan.actions);
    this.#tellBackOffs(plan, observed);
    this.#report(plan, observed, now);
    this.#conclusion.look(plan.ended, found === undefined, observed);
    const next = Math.min(plan.wakeAt ?? Number.POSITIVE_INFINITY, this.#deadline());
    this.#wakeAfter(clock, next - now);
  }

  async #take(pod: Pod, observed: ObservedPod): Promise<void> {
    const before = this.#given.metadata;
    if (pod !== this.#given) this.#options.objects.follow(pod);
    this.#given = pod;
    this.#pod = await this.#resizer.grant(pod, observed);
    const { labels, annotations } = pod.metadata;
    if (!sameContent([before.labels, before.annotations], [labels, annotations])) this.refreshVolumes();
  }

  #tellBackOffs({ waiting }: PodPlan, observed: ObservedPod): void {
    for (const [name, { reason }] of waiting) {
      const last = newest(observed, name);
      if (reason !== "CrashLoopBackOff" || last === undefined || this.#toldBackOff.has(last.id)) continue;
      this.#toldBackOff.add(last.id);
      const message = `Back-off restarting failed container ${name} in pod ${podText(this.#pod)}`;
      this.#say("Warning", "BackOff", message);
    }
  }

  #refuse({ reason, message }: Refusal): void {
    this.#say("Warning", reason, message);
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
      started: this.#probes.started(),
      unwell: new Map([...this.#probes.unwell(), ...this.#hooks.unwell, ...this.#resizer.unwell]),
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
      else if (action.do === "stop") this.#stop(action);
      else if (action.do === "runSandbox") this.#sandboxes.make(action.attempt);
      else if (action.do === "remove") this.#conclusion.removeContainer(action.container);
      else if (action.do === "stopSandbox") stop.push(action.id);
      else remove.push(action.id);
    }
    if (stop.length + remove.length > 0 && !this.#sandboxes.isBusy) this.#sandboxes.clear(stop, remove);
  }

  #stop(action: StopAction): void {
    this.#probes.endLiveness(action.container.id);
    this.#stopper.stop(action);
  }

  #report(plan: PodPlan, observed: ObservedPod, now: number): void {
    const { settings, view, statuses, source } = this.#options;
    const input: StatusInput = {
      pod: this.#known(),
      observed,
      now,
      waiting: new Map([...this.#starter.waiting(now), ...plan.waiting]),
      running: new Set(this.#running(observed).map(({ id }) => id)),
      started: this.#probes.started(),
      ready: this.#probes.ready(),
      messages: this.#messages,
      resources: (name) => this.#resizer.resourcesOf(this.#pod, name, newest(observed, name)),
      conditions: this.#resizer.conditions(),
      ...(this.#end && { end: this.#end }),
      ended: plan.ended,
      hostIPs: settings.hostIPs,
      runtimeName: view.runtimeName,
    };
    this.#status = podStatus(input);
    if (source.get(uidOf(this.#pod)) !== undefined) statuses.set(this.#given, this.#status);
  }

  /** Those that run and have their postStart hook behind them. */
  #running(observed: ObservedPod): RuntimeContainer[] {
    const isHooking = (name: string) =>
      this.#starter.starting.has(name) && containerOf(this.#pod, name)?.spec.lifecycle?.postStart !== undefined;
    return aliveContainers(observed).filter(({ name }) => !isHooking(name));
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

  /** What is known of containers that are no longer there. */
  #forgetOld(observed: ObservedPod): void {
    const ids = new Set([...observed.containers.values()].flat().map(({ id }) => id));
    for (const id of this.#messages.keys()) if (!ids.has(id)) this.#messages.delete(id);
    for (const id of this.#toldBackOff) if (!ids.has(id)) this.#toldBackOff.delete(id);
    this.#hooks.forgetOld(ids);
    this.#resizer.forgetOld(ids);
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
    this.#probes.stop();
  }
}
