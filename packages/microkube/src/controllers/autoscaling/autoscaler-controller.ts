import type { Kind } from "@fjord/base";
import {
  byNamespace,
  type Cache,
  Discovery,
  formatProcessors,
  HorizontalPodAutoscaler,
  inThousandths,
  Pod,
  parseQuantity,
  type Request,
  type Result,
  type Scale,
  updatesWhere,
  watches,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { again, Loop, reasonOf } from "../loop.ts";
import { writeStatus } from "../status-writer.ts";
import { timestamp } from "../workload/pod-state.ts";
import { labelPredicate } from "./label-text.ts";
import { podUsages, requestOf } from "./pod-metrics.ts";
import { type Outcome, wantedCount } from "./replica-count.ts";
import { decide, type Moment } from "./scaling-behavior.ts";

const EVERY_MS = 15_000;
const REMEMBERED_MS = 3_600_000;

type Spec = NonNullable<HorizontalPodAutoscaler["spec"]>;
type Status = NonNullable<HorizontalPodAutoscaler["status"]>;
type Condition = NonNullable<Status["conditions"]>[number];
type Metric = NonNullable<Spec["metrics"]>[number];
type MetricStatus = NonNullable<Status["currentMetrics"]>[number];

/** Sets the number of replicas of workloads by what their pods use. */
export const horizontalPodAutoscalerController: ControlLoop = (means) => {
  const loop = new Loop(means, "horizontal-pod-autoscaler");
  const autoscalers = loop.open(HorizontalPodAutoscaler);
  const pods = loop.open(Pod, { namespace: byNamespace });
  const controller = new AutoscalerController(means, loop, autoscalers, pods);
  return loop.hears(autoscalers, { onDelete: ({ metadata }) => controller.forget(metadata.uid ?? "") }).reconciles({
    sources: [
      watches(autoscalers, { when: updatesWhere((old, next) => old.metadata.generation !== next.metadata.generation) }),
    ],
    reconcile: (request, { signal }) => controller.reconcile(request, signal),
  });
};

interface Memory {
  recommended: Moment[];
  changes: Moment[];
}

/** Why no count could be told. */
class Unmeasured extends Error {
  readonly reason: string;
  /** What was to be measured, for where several are. */
  readonly about: string;
  constructor(reason: string, message: string, about = "") {
    super(message);
    this.reason = reason;
    this.about = about;
  }
}

class AutoscalerController {
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #autoscalers: Cache<HorizontalPodAutoscaler>;
  readonly #pods: Cache<Pod>;
  readonly #discovery: Discovery;
  readonly #memories = new Map<string, Memory>();

  constructor(means: ControlMeans, loop: Loop, autoscalers: Cache<HorizontalPodAutoscaler>, pods: Cache<Pod>) {
    this.#means = means;
    this.#loop = loop;
    this.#autoscalers = autoscalers;
    this.#pods = pods;
    this.#discovery = new Discovery(means.client, means);
  }

  forget(uid: string): void {
    this.#memories.delete(uid);
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const autoscaler = this.#autoscalers.get(request);
    if (autoscaler?.spec === undefined) return { type: "done" };
    const { scaleTargetRef } = autoscaler.spec;
    const conditions = new Conditions(autoscaler, this.#means.clock.now());
    const status: Status = {
      desiredReplicas: 0,
      ...autoscaler.status,
      observedGeneration: autoscaler.metadata.generation,
    };
    const target = await this.#targetOf(autoscaler, scaleTargetRef, conditions, signal);
    let failure: unknown;
    if (target !== undefined) {
      try {
        await this.#adjust(autoscaler, target.kind, target.scale, status, conditions, signal);
      } catch (error) {
        failure = error;
      }
    }
    status.conditions = conditions.list;
    await writeStatus(this.#means.client, HorizontalPodAutoscaler, autoscaler, { status }, signal);
    if (failure !== undefined) throw failure;
    return again(EVERY_MS);
  }

  /** The workload and its scale; undefined where nobody could tell, which the conditions then say. */
  async #targetOf(
    autoscaler: HorizontalPodAutoscaler,
    { apiVersion = "v1", kind: kindName, name }: Spec["scaleTargetRef"],
    conditions: Conditions,
    signal: AbortSignal,
  ): Promise<{ kind: Kind; scale: Scale } | undefined> {
    try {
      const kind = await this.#discovery.resolve({ apiVersion, kind: kindName });
      const key = { name, namespace: autoscaler.metadata.namespace };
      const scale = await this.#means.client.getScale(kind, key, { signal });
      const message = "the HPA controller was able to get the target's current scale";
      conditions.set("AbleToScale", "True", "SucceededGetScale", message);
      return { kind, scale };
    } catch (error) {
      if (signal.aborted) throw error;
      const reason = reasonOf(error);
      const message = `the HPA controller was unable to get the target's current scale: ${reason}`;
      conditions.set("AbleToScale", "False", "FailedGetScale", message);
      this.#loop.event(autoscaler, "Warning", "FailedGetScale", reason);
      return undefined;
    }
  }

  async #adjust(
    autoscaler: HorizontalPodAutoscaler,
    kind: Kind,
    scale: Scale,
    status: Status,
    conditions: Conditions,
    signal: AbortSignal,
  ): Promise<void> {
    const { minReplicas: least = 1, maxReplicas: most, behavior } = autoscaler.spec as Spec;
    const current = scale.spec.replicas ?? 0;
    status.currentReplicas = scale.status?.replicas || undefined;
    if (current === 0 && least !== 0) {
      const message = "scaling is disabled since the replica count of the target is zero";
      conditions.set("ScalingActive", "False", "ScalingDisabled", message);
      status.desiredReplicas = 0;
      return;
    }
    const now = this.#means.clock.now();
    const memory = this.#memoryOf(autoscaler, current, now);
    let replicas: number;
    let reason: string;
    if (current > most || current < least) {
      replicas = current > most ? most : least;
      reason = `Current number of replicas ${current > most ? "above Spec.MaxReplicas" : "below Spec.MinReplicas"}`;
    } else {
      const measured = await this.#measure(autoscaler, scale, current, status, conditions, signal);
      if (measured === undefined) return;
      memory.recommended.push({ at: now, replicas: measured.replicas });
      const { recommended, changes } = memory;
      const decision = decide(behavior, { current, wanted: measured.replicas, least, most, recommended, changes, now });
      conditions.set("AbleToScale", "True", decision.able.reason, decision.able.message);
      conditions.set("ScalingLimited", decision.limited.status, decision.limited.reason, decision.limited.message);
      replicas = decision.replicas;
      reason = measured.replicas > current ? `${measured.name} above target` : "All metrics below target";
    }
    status.desiredReplicas = replicas;
    if (replicas === current) return;
    await this.#rescale(autoscaler, kind, scale, replicas, reason, conditions, signal);
    memory.changes.push({ at: now, replicas: replicas - current });
    status.lastScaleTime = timestamp(now);
  }

  async #rescale(
    autoscaler: HorizontalPodAutoscaler,
    kind: Kind,
    scale: Scale,
    replicas: number,
    reason: string,
    conditions: Conditions,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace } = scale.metadata;
    try {
      const wanted = { ...scale, spec: { ...scale.spec, replicas } };
      await this.#means.client.updateScale(kind, { name: name ?? "", namespace }, wanted, { signal });
    } catch (error) {
      const message = `the HPA controller was unable to update the target scale: ${reasonOf(error)}`;
      conditions.set("AbleToScale", "False", "FailedUpdateScale", message);
      const note = `New size: ${replicas}; reason: ${reason}; error: ${reasonOf(error)}`;
      this.#loop.event(autoscaler, "Warning", "FailedRescale", note);
      throw error;
    }
    const message = `the HPA controller was able to update the target scale to ${replicas}`;
    conditions.set("AbleToScale", "True", "SucceededRescale", message);
    this.#loop.event(autoscaler, "Normal", "SuccessfulRescale", `New size: ${replicas}; reason: ${reason}`);
  }

  /** The largest count that any of the metrics asks for; undefined where none could be told. */
  async #measure(
    autoscaler: HorizontalPodAutoscaler,
    scale: Scale,
    current: number,
    status: Status,
    conditions: Conditions,
    signal: AbortSignal,
  ): Promise<{ replicas: number; name: string } | undefined> {
    const readings: MetricStatus[] = [];
    let best: { replicas: number; name: string } | undefined;
    let problem: Unmeasured | undefined;
    for (const metric of (autoscaler.spec?.metrics ?? []) as Metric[]) {
      try {
        const { outcome, name, reading } = await this.#read(metric, scale, current, signal);
        readings.push(reading);
        if (best === undefined || outcome.replicas > best.replicas) best = { replicas: outcome.replicas, name };
      } catch (error) {
        if (!(error instanceof Unmeasured)) throw error;
        problem ??= error;
      }
    }
    status.currentMetrics = readings.length > 0 ? readings : undefined;
    // Nobody shrinks by half of what he knows.
    if (problem !== undefined && (best === undefined || best.replicas < current)) {
      const message = `the HPA was unable to compute the replica count: ${problem.message}`;
      conditions.set("ScalingActive", "False", problem.reason, message);
      this.#loop.event(autoscaler, "Warning", problem.reason, problem.message);
      const total = autoscaler.spec?.metrics?.length ?? 0;
      const invalid = `invalid metrics (${total - readings.length} invalid out of ${total})`;
      const note = `${invalid}, first error is: ${problem.about}${problem.message}`;
      this.#loop.event(autoscaler, "Warning", "FailedComputeMetricsReplicas", note);
      return undefined;
    }
    if (best === undefined) return undefined;
    const message = `the HPA was able to successfully calculate a replica count from ${best.name}`;
    conditions.set("ScalingActive", "True", "ValidMetricFound", message);
    return best;
  }

  async #read(
    metric: Metric,
    scale: Scale,
    current: number,
    signal: AbortSignal,
  ): Promise<{ outcome: Outcome; name: string; reading: MetricStatus }> {
    const source = metric.resource ?? metric.containerResource;
    if (source === undefined) {
      const message = `unable to get ${metric.type.toLowerCase()} metric: no API of custom metrics is served here`;
      throw new Unmeasured(`FailedGet${metric.type}Metric`, message);
    }
    const { name: resource, target } = source;
    const container = metric.containerResource?.container;
    const namespace = scale.metadata.namespace ?? "";
    const selector = scale.status?.selector ?? "";
    const matches = labelPredicate(selector);
    const pods = this.#pods.byIndex("namespace", namespace).filter(({ metadata }) => matches(metadata.labels ?? {}));
    try {
      const usages = await podUsages(this.#means.client, namespace, selector, resource, container, signal);
      const average = target.averageValue === undefined ? undefined : inThousandths(parseQuantity(target.averageValue));
      const outcome = wantedCount({
        pods,
        usages,
        requestOf: (pod) => requestOf(pod, resource, container),
        target: average === undefined ? { utilization: target.averageUtilization ?? 80 } : { average },
        current,
        isProcessor: resource === "cpu",
        now: this.#means.clock.now(),
      });
      const now = {
        averageValue: formatProcessors(outcome.average),
        ...(outcome.utilization !== undefined && { averageUtilization: outcome.utilization }),
      };
      const reading =
        container === undefined
          ? { type: "Resource", resource: { name: resource, current: now } }
          : { type: "ContainerResource", containerResource: { name: resource, container, current: now } };
      const what =
        outcome.utilization === undefined
          ? `${resource} resource`
          : `${resource} resource utilization (percentage of request)`;
      return { outcome, name: what, reading: reading as MetricStatus };
    } catch (error) {
      if (signal.aborted) throw error;
      const kind = container === undefined ? "resource" : "container resource";
      const got = `unable to fetch metrics from resource metrics API: ${metricsProblem(error)}`;
      const message = `failed to get ${resource} utilization: unable to get metrics for ${kind} ${resource}: ${got}`;
      throw new Unmeasured(
        container === undefined ? "FailedGetResourceMetric" : "FailedGetContainerResourceMetric",
        message,
        `failed to get ${resource} ${kind} metric value: `,
      );
    }
  }

  #memoryOf({ metadata }: HorizontalPodAutoscaler, current: number, now: number): Memory {
    const { uid = "" } = metadata;
    // The count that is there when nothing is known stands for what was recommended before.
    const memory = this.#memories.get(uid) ?? { recommended: [{ at: now, replicas: current }], changes: [] };
    const recent = ({ at }: Moment) => at > now - REMEMBERED_MS;
    memory.recommended = memory.recommended.filter(recent);
    memory.changes = memory.changes.filter(recent);
    this.#memories.set(uid, memory);
    return memory;
  }
}

/** Answers that say nothing of themselves are told with what was asked for, as Go's clients do. */
function metricsProblem(error: unknown): string {
  const reason = reasonOf(error);
  const isBare = /^the server (could not find the requested resource|is currently unable to handle the request)$/;
  return isBare.test(reason) ? `${reason} (get pods.metrics.k8s.io)` : reason;
}

class Conditions {
  list: Condition[];
  readonly #now: number;

  constructor({ status }: HorizontalPodAutoscaler, now: number) {
    this.list = [...(status?.conditions ?? [])];
    this.#now = now;
  }

  set(type: string, status: string, reason: string, message: string): void {
    const old = this.list.find((condition) => condition.type === type);
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : timestamp(this.#now);
    const next = { type, status, reason, message, lastTransitionTime };
    this.list = old === undefined ? [...this.list, next] : this.list.map((each) => (each === old ? next : each));
  }
}
