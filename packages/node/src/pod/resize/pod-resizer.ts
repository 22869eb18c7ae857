import { backoffDelay, describeError } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { containerResources, wholePodResources } from "../../resources/container-resources.ts";
import type { ContainerResources, RuntimeContainer, RuntimeSandbox } from "../../runtime/index.ts";
import { annotations } from "../annotations.ts";
import { forgeSandbox } from "../forge/sandbox-forge.ts";
import type { ObservedPod } from "../observed-pod.ts";
import type { Unwell } from "../plan/plan-input.ts";
import { containerOf, type PodContainer, podFields, uidOf } from "../pod-containers.ts";
import { podDirectory } from "../pod-directory.ts";
import type { NewCondition } from "../status/pod-conditions.ts";
import { type Say, sayer, type WorkerContext } from "../worker/pod-services.ts";
import {
  type Allocation,
  changedResources,
  initialAllocation,
  parseRequirements,
  type Requirements,
  sameAllocation,
  wantedAllocation,
  withAllocation,
} from "./allocation.ts";
import { AllocationFile } from "./allocation-file.ts";
import { decideResize } from "./resize-decision.ts";

/** Gives the containers of one pod what it asks for while they run. */
export class PodResizer {
  readonly #context: WorkerContext;
  readonly #say: Say;
  readonly #file: AllocationFile;
  readonly #applied = new Map<string, Requirements>();
  /** Containers that are being changed. */
  readonly #busy = new Set<string>();
  readonly #unwell = new Map<string, Unwell>();
  #allocation: Allocation | undefined;
  #pending: NewCondition | undefined;
  #isInProgress = false;
  #error: string | undefined;
  #failures = 0;
  #retryAt = 0;

  constructor(context: WorkerContext) {
    this.#context = context;
    this.#say = sayer(context, context.pod);
    this.#file = new AllocationFile(podDirectory(context.settings.stateDirectory, uidOf(context.pod())));
  }

  /** Containers that have to be restarted to get what they were granted. */
  get unwell(): ReadonlyMap<string, Unwell> {
    return this.#unwell;
  }

  /** Whether the pod asks for what it cannot have at the moment. */
  get isPending(): boolean {
    return this.#pending !== undefined;
  }

  /** The pod with what it was granted; decides about what it asks for beyond that. */
  async grant(pod: Pod, observed: ObservedPod): Promise<Pod> {
    if (this.#allocation === undefined) {
      const record = await this.#file.read();
      this.#allocation = record?.allocation ?? initialAllocation(pod, observed);
      for (const [id, requirements] of Object.entries(record?.applied ?? {})) this.#applied.set(id, requirements);
    }
    const wanted = wantedAllocation(pod);
    // New ephemeral containers and the like are no resize.
    const allocation = { ...wanted, ...this.#allocation };
    if (sameAllocation(allocation, wanted)) this.#pending = undefined;
    else await this.#decide(pod, wanted, observed.sandbox).catch((error: unknown) => this.#defer(pod, error));
    return withAllocation(pod, this.#allocation);
  }

  /** Changes running containers that have something else than they were granted. */
  apply(pod: Pod, running: readonly RuntimeContainer[], sandbox: RuntimeSandbox | undefined): void {
    this.#unwell.clear();
    let isInProgress = false;
    for (const container of running) {
      const known = containerOf(pod, container.name);
      if (known === undefined || (known.role !== "main" && known.role !== "sidecar")) continue;
      const changed = changedResources(this.#appliedTo(container), known.spec.resources);
      if (changed.length === 0) continue;
      isInProgress = true;
      if (changed.some((resource) => needsRestart(known, resource))) {
        this.#unwell.set(container.id, { message: `Container ${known.name} resize requires restart` });
      } else void this.#change(pod, container, known);
    }
    if (sandbox !== undefined && changedResources(this.#appliedTo(sandbox), pod.spec?.resources).length > 0) {
      isInProgress = true;
      // The last step of all: it may take from the pod what containers have given back.
      if (running.every((container) => !this.#unwell.has(container.id))) void this.#changeWhole(pod, sandbox);
    }
    if (this.#isInProgress && !isInProgress) this.#complete(pod, sandbox);
    this.#isInProgress = isInProgress;
  }

  /** Forgets all but these. */
  forgetOld(ids: ReadonlySet<string>): void {
    for (const id of this.#applied.keys()) if (!ids.has(id)) this.#applied.delete(id);
  }

  conditions(): NewCondition[] {
    const conditions = this.#pending === undefined ? [] : [this.#pending];
    if (!this.#isInProgress) return conditions;
    const error = this.#error === undefined ? {} : { reason: "Error", message: this.#error };
    return [...conditions, { type: "PodResizeInProgress", status: "True", ...error }];
  }

  /** What a container is known to have, and was granted. */
  resourcesOf(
    pod: Pod,
    name: string,
    last: RuntimeContainer | undefined,
  ): { granted: Requirements; given: Requirements } {
    const granted = containerOf(pod, name)?.spec.resources ?? {};
    return { granted, given: last?.state === "running" ? this.#appliedTo(last) : granted };
  }

  #appliedTo({ id, annotations: noted }: RuntimeContainer | RuntimeSandbox): Requirements {
    return this.#applied.get(id) ?? parseRequirements(noted[annotations.resources] ?? "{}");
  }

  /** The pod has to be looked after whether or not it can be resized. */
  #defer(pod: Pod, error: unknown): void {
    this.#fail(pod, error);
    const message = this.#error ?? "";
    this.#pending = { type: "PodResizePending", status: "True", reason: "Deferred", message };
  }

  #fail(pod: Pod, error: unknown): void {
    const { clock, random, logger, wakeAt, signal } = this.#context;
    if (signal.aborted) return;
    this.#error = describeError(error);
    this.#retryAt = clock.now() + backoffDelay(this.#failures++, { initial: 1_000, max: 60_000, random });
    wakeAt(this.#retryAt);
    this.#say("Warning", "ResizeError", `Pod resize error: ${this.#error}`);
    logger.warn("cannot change what a pod may use", { ...podFields(pod), error: this.#error });
  }

  async #decide(pod: Pod, wanted: Allocation, sandbox: RuntimeSandbox | undefined): Promise<void> {
    const { ledger, signal, clock } = this.#context;
    const decision = decideResize(pod, ledger);
    if (decision.verdict === "grant") {
      if (this.#retryAt > clock.now()) return;
      // First the pod as a whole: a container cannot have more than it.
      const before = withAllocation(pod, this.#allocation ?? {});
      await this.#resizeSandbox(
        pod,
        sandbox,
        largerResources(wholePodResources(before), wholePodResources(pod)),
        signal,
      );
      await this.#file.write({ allocation: wanted, applied: Object.fromEntries(this.#applied) });
      this.#allocation = wanted;
      this.#pending = undefined;
      this.#isInProgress = true;
      ledger.enter(pod);
      this.#say("Normal", "ResizeStarted", `Pod resize started: ${describe(pod, wanted)}`);
      return;
    }
    const { verdict, message } = decision;
    if (this.#pending?.reason !== verdict)
      this.#say("Warning", `Resize${verdict}`, `Pod resize ${verdict}: ${message}`);
    this.#pending = { type: "PodResizePending", status: "True", reason: verdict, message };
  }

  async #resizeSandbox(
    pod: Pod,
    sandbox: RuntimeSandbox | undefined,
    resources: ContainerResources,
    signal: AbortSignal,
  ): Promise<void> {
    const { view, handler, settings } = this.#context;
    if (sandbox?.state !== "ready" || view.runtime.resizeSandbox === undefined) return;
    const config = forgeSandbox(pod, sandbox.attempt, handler, settings);
    await view.runtime.resizeSandbox(sandbox.id, { ...config, resources }, signal);
  }

  #change(pod: Pod, container: RuntimeContainer, { spec }: PodContainer): Promise<void> {
    const { view, settings, signal } = this.#context;
    return this.#give(pod, container.id, spec.resources ?? {}, () =>
      view.runtime.updateResources(container.id, containerResources(pod, spec, settings.memoryCapacity), signal),
    );
  }

  #changeWhole(pod: Pod, sandbox: RuntimeSandbox): Promise<void> {
    return this.#give(pod, sandbox.id, pod.spec?.resources ?? {}, () =>
      this.#resizeSandbox(pod, sandbox, wholePodResources(pod), this.#context.signal),
    );
  }

  /** Gives a container or the pod what it was granted, and notes that. */
  async #give(pod: Pod, id: string, granted: Requirements, call: () => Promise<void>): Promise<void> {
    const { clock, wake } = this.#context;
    if (this.#busy.has(id) || this.#retryAt > clock.now()) return;
    this.#busy.add(id);
    try {
      await call();
      this.#applied.set(id, granted);
      await this.#file.write({ allocation: this.#allocation ?? {}, applied: Object.fromEntries(this.#applied) });
      this.#error = undefined;
      this.#failures = 0;
    } catch (error) {
      this.#fail(pod, error);
    } finally {
      this.#busy.delete(id);
    }
    wake();
  }

  #complete(pod: Pod, sandbox: RuntimeSandbox | undefined): void {
    this.#error = undefined;
    const { signal, logger } = this.#context;
    void this.#resizeSandbox(pod, sandbox, wholePodResources(pod), signal).catch((error: unknown) => {
      if (!signal.aborted) logger.warn("cannot narrow a pod", { ...podFields(pod), error: describeError(error) });
    });
    this.#say("Normal", "ResizeCompleted", `Pod resize completed: ${describe(pod, this.#allocation ?? {})}`);
  }
}

/** Of each the larger; no limit is the largest. */
export function largerResources(a: ContainerResources, b: ContainerResources): ContainerResources {
  const larger = (name: "cpuRequest" | "cpuLimit" | "memoryRequest" | "memoryLimit") => {
    const [one, other] = [a[name], b[name]];
    return one === undefined || other === undefined ? {} : { [name]: Math.max(one, other) };
  };
  return { ...larger("cpuRequest"), ...larger("cpuLimit"), ...larger("memoryRequest"), ...larger("memoryLimit") };
}

function needsRestart({ spec }: PodContainer, resource: string): boolean {
  const policy = spec.resizePolicy?.find(({ resourceName }) => resourceName === resource);
  return policy?.restartPolicy === "RestartContainer";
}

function describe(pod: Pod, allocation: Allocation): string {
  const containers = Object.entries(allocation).map(([name, resources]) => ({ name, resources }));
  return JSON.stringify({ containers, generation: pod.metadata.generation });
}
