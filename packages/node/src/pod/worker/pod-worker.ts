import { describeError } from "@fjord/base";
import { type Pod, sameContent } from "@fjord/kube";
import type { Refusal } from "../../resources/node-ledger.ts";
import type { RuntimeContainer } from "../../runtime/index.ts";
import type { PodFacts } from "../../volumes/pod-volumes.ts";
import { PodHooks } from "../hook/pod-hooks.ts";
import { aliveContainers, newest, type ObservedPod } from "../observed-pod.ts";
import { replacedUntil } from "../plan/definition-change.ts";
import type { PlanInput, PodEnd } from "../plan/plan-input.ts";
import { type PodAction, type PodPlan, planPod } from "../plan/pod-plan.ts";
import { containerOf, podFields, uidOf } from "../pod-containers.ts";
import { PodProbes } from "../probe/pod-probes.ts";
import { PodResizer } from "../resize/pod-resizer.ts";
import { ContainerStarter } from "./container-starter.ts";
import { ContainerStopper, type StopAction } from "./container-stopper.ts";
import { PodConclusion } from "./pod-conclusion.ts";
import { deadlineOf, endOf } from "./pod-ending.ts";
import { type Objections, PodHold } from "./pod-hold.ts";
import { PodReport } from "./pod-report.ts";
import { type PodServices, type Say, sayer, type WorkerContext } from "./pod-services.ts";
import type { RuntimeView } from "./runtime-view.ts";
import { SandboxKeeper } from "./sandbox-keeper.ts";
import { VolumeKeeper } from "./volume-keeper.ts";
import { WakeTimer } from "./wake-timer.ts";

export interface PodWorkerOptions extends PodServices {
  readonly pod: Pod;
  readonly view: RuntimeView;
  /** Of the pod's runtime class. */
  readonly handler: string;
  /** Why the pod cannot be honoured: it waits, and is asked about again. */
  readonly objections: Objections;
  /** Why the pod may not run here: it fails. */
  readonly refusal?: Refusal;
  readonly signal: AbortSignal;
  /** Nothing is left of the pod. */
  readonly onGone: () => void;
}

/** Keeps one pod as its spec says. It looks when woken, one look at a time, and never waits for what it has begun. */
export class PodWorker {
  readonly #options: PodWorkerOptions;
  readonly #say: Say;
  readonly #timer: WakeTimer;
  readonly #hold: PodHold;
  readonly #sandboxes: SandboxKeeper;
  readonly #volumes: VolumeKeeper;
  readonly #starter: ContainerStarter;
  readonly #stopper: ContainerStopper;
  readonly #probes: PodProbes;
  readonly #hooks: PodHooks;
  readonly #resizer: PodResizer;
  readonly #report: PodReport;
  readonly #conclusion: PodConclusion;
  /** As the source gave it. */
  #given: Pod;
  /** With what it was granted in place of what it asks for. */
  #pod: Pod;
  #end: PodEnd | undefined;
  #problem: string | undefined;
  #isLooking = false;
  #isWoken = false;

  constructor(options: PodWorkerOptions) {
    this.#options = options;
    this.#given = options.pod;
    this.#pod = options.pod;
    this.#timer = new WakeTimer(options.clock, () => this.wake());
    const context: WorkerContext = {
      ...options,
      pod: () => this.#pod,
      facts: () => this.#facts(),
      wake: () => this.wake(),
      wakeAt: (time) => this.#timer.at(time),
    };
    this.#say = sayer(options, () => this.#pod);
    this.#hold = new PodHold(context, options.objections);
    this.#probes = new PodProbes(context);
    this.#hooks = new PodHooks(context);
    this.#volumes = new VolumeKeeper(context);
    this.#starter = new ContainerStarter(context, this.#volumes, (...args) => this.#hooks.afterStart(...args));
    this.#stopper = new ContainerStopper(context, (...args) => this.#hooks.beforeStop(...args));
    this.#sandboxes = new SandboxKeeper(context, this.#volumes);
    this.#resizer = new PodResizer(context);
    this.#report = new PodReport(context);
    this.#conclusion = new PodConclusion(context, options.onGone);
    if (options.refusal !== undefined) this.#refuse(options.refusal);
  }

  /** The pod with the status that the node last gave it. */
  get pod(): Pod {
    const { status } = this.#report;
    return status === undefined ? this.#given : { ...this.#given, status };
  }

  get view(): RuntimeView {
    return this.#options.view;
  }

  wake(): void {
    this.#isWoken = true;
    if (!this.#isLooking) void this.#lookWhileWoken();
  }

  /** Nothing wakes it any more. */
  stop(): void {
    this.#timer.stop();
    this.#probes.stop();
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

  async #lookWhileWoken(): Promise<void> {
    const { signal } = this.#options;
    this.#isLooking = true;
    // What wakes it in the same turn is one reason to look.
    await Promise.resolve();
    while (this.#isWoken && !signal.aborted) {
      this.#isWoken = false;
      try {
        await this.#look();
        this.#problem = undefined;
      } catch (error) {
        this.#fail(describeError(error));
      }
    }
    this.#isLooking = false;
  }

  /** What stays wrong is said once: it is tried again for as long as the pod is there. */
  #fail(problem: string): void {
    const { logger, clock } = this.#options;
    if (problem !== this.#problem) {
      logger.error("cannot work on a pod", { ...podFields(this.#pod), error: problem });
      this.#say("Warning", "FailedSync", `error: ${problem}`);
    }
    this.#problem = problem;
    this.#timer.at(clock.now() + 5_000);
  }

  async #look(): Promise<void> {
    const { source, view } = this.#options;
    if (!view.isListed) return void view.refresh().then(() => this.wake());
    const uid = uidOf(this.#pod);
    let observed: ObservedPod;
    do {
      observed = view.get(uid);
      await this.#take(source.get(uid), observed);
      await this.#report.prepare(observed);
      // What was made meanwhile must be in sight before anything is decided, or it would be made again.
    } while (view.get(uid) !== observed);
    this.#act(observed, source.get(uid) === undefined);
  }

  /** Decides and begins what is to be done. Nothing else happens in between: it waits for nothing. */
  #act(observed: ObservedPod, isGone: boolean): void {
    const { clock, ledger } = this.#options;
    const now = clock.now();
    this.#end = endOf(this.#report.known(), isGone, now, this.#end);
    if (this.#end !== undefined) this.#cancel();
    else this.#hold.look(now);
    const running = this.#running(observed);
    this.#probes.follow(running, this.#end !== undefined);
    if (this.#end === undefined) this.#resizer.apply(this.#pod, running, observed.sandbox);
    this.#starter.tellBackOffs(now);
    const plan = planPod(this.#planInput(observed, now));
    if (plan.ended) ledger.leave(uidOf(this.#pod));
    this.#carryOut(plan.actions);
    this.#tell(plan, observed, running, now, isGone);
    this.#conclusion.look(plan.ended, isGone, this.#report.isWritten, observed);
    this.#forgetOld(observed);
    this.#timer.at(Math.min(plan.wakeAt ?? Number.POSITIVE_INFINITY, this.#deadline()));
  }

  async #take(pod: Pod | undefined, observed: ObservedPod): Promise<void> {
    if (pod === undefined) return;
    const before = this.#given.metadata;
    if (pod !== this.#given) this.#options.objects.follow(pod);
    this.#given = pod;
    this.#pod = await this.#resizer.grant(pod, observed);
    const { labels, annotations } = pod.metadata;
    if (!sameContent([before.labels, before.annotations], [labels, annotations])) this.refreshVolumes();
  }

  #cancel(): void {
    this.#starter.cancel();
    this.#sandboxes.cancel();
  }

  #refuse({ reason, message }: Refusal): void {
    this.#say("Warning", reason, message);
    const whole = `Pod was rejected: ${message}`;
    this.#end = { cause: "refused", since: this.#options.clock.now(), graceSeconds: 0, reason, message: whole };
  }

  #deadline(): number {
    const deadline = this.#end === undefined ? deadlineOf(this.#report.known()) : undefined;
    return deadline ?? Number.POSITIVE_INFINITY;
  }

  #planInput(observed: ObservedPod, now: number): PlanInput {
    const { timing } = this.#options;
    const { retryAt } = this.#sandboxes;
    const { until } = this.#hold;
    return {
      pod: this.#report.known(),
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
      ...(until !== undefined && { heldUntil: until }),
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

  #tell(plan: PodPlan, observed: ObservedPod, running: RuntimeContainer[], now: number, isGone: boolean): void {
    this.#report.tellProblems(observed);
    this.#report.tellBackOffs(plan, observed);
    const waiting = new Map([...this.#hold.waiting(), ...this.#starter.waiting(now), ...plan.waiting]);
    const silentUntil =
      this.#end === undefined ? replacedUntil({ pod: this.#pod, observed }, (name) => waiting.has(name)) : 0;
    if (now < silentUntil) {
      this.#timer.at(silentUntil);
      return;
    }
    const status = {
      observed,
      now,
      waiting,
      running: new Set(running.map(({ id }) => id)),
      started: this.#probes.started(),
      ready: this.#probes.ready(),
      resources: (name: string) => this.#resizer.resourcesOf(this.#pod, name, newest(observed, name)),
      conditions: this.#resizer.conditions(),
      ...(this.#end && { end: this.#end }),
      ended: plan.ended,
    };
    this.#report.make(status, this.#given, isGone);
  }

  /** Those that run and have their postStart hook behind them. */
  #running(observed: ObservedPod): RuntimeContainer[] {
    const isHooking = (name: string) =>
      this.#starter.starting.has(name) && containerOf(this.#pod, name)?.spec.lifecycle?.postStart !== undefined;
    return aliveContainers(observed).filter(({ name }) => !isHooking(name));
  }

  /** What is known of containers that are no longer there. */
  #forgetOld(observed: ObservedPod): void {
    const all = [...observed.sandboxes, ...[...observed.containers.values()].flat()];
    const ids = new Set(all.map(({ id }) => id));
    this.#report.forgetOld(ids);
    this.#hooks.forgetOld(ids);
    this.#resizer.forgetOld(ids);
  }

  #facts(): PodFacts {
    const { settings, view } = this.#options;
    const { sandbox } = view.get(uidOf(this.#pod));
    const podIPs = this.#pod.spec?.hostNetwork ? settings.hostIPs : (sandbox?.addresses ?? []);
    return { podIPs, hostIPs: settings.hostIPs, allocatable: settings.allocatable };
  }
}
