import type { Pod } from "@fjord/kube";
import type { Waiting } from "../plan/pod-plan.ts";
import { containersOf, podFields } from "../pod-containers.ts";
import { type Say, sayer, type WorkerContext } from "./pod-services.ts";
import { UNSUPPORTED, UNSUPPORTED_RETRY_MS } from "./start-problem.ts";

/** What of a pod cannot be honoured, a sentence for each. */
export type Objections = (pod: Pod) => readonly string[];

/**
 * Keeps a pod from beginning while its runtime cannot honour it. The pod waits and says why: were it to fail, whatever
 * made it would make the next one at once, which failed too, without end.
 */
export class PodHold {
  readonly #context: WorkerContext;
  readonly #objections: Objections;
  readonly #say: Say;
  #isHeld: boolean;
  #message = "";
  #asked: Pod | undefined;
  #retryAt = 0;

  constructor(context: WorkerContext, objections: Objections) {
    this.#context = context;
    this.#objections = objections;
    this.#say = sayer(context, context.pod);
    // What has run was let in then, and a node that has become stricter is no reason to keep it from running again.
    this.#isHeld = !hasRun(context.pod());
  }

  /** Asks again where the pod has changed, or after a while: a program may have been installed. */
  look(now: number): void {
    const pod = this.#context.pod();
    if (!this.#isHeld || (pod === this.#asked && now < this.#retryAt)) return;
    this.#asked = pod;
    this.#retryAt = now + UNSUPPORTED_RETRY_MS;
    const message = this.#objections(pod).join("; ");
    this.#isHeld = message !== "";
    if (!this.#isHeld || message === this.#message) return;
    this.#message = message;
    this.#say("Warning", UNSUPPORTED, message);
    this.#context.logger.info("cannot begin a pod", { ...podFields(pod), error: message });
  }

  /** Until when nothing may be made; undefined where the pod may begin. */
  get until(): number | undefined {
    return this.#isHeld ? this.#retryAt : undefined;
  }

  waiting(): Map<string, Waiting> {
    // A pod that is to end before it was asked about waits for nothing.
    if (!this.#isHeld || this.#message === "") return new Map();
    return unsupportedContainers(this.#context.pod(), this.#message);
  }
}

/** Why the containers of a pod wait that cannot be honoured; ephemeral ones are asked about when they join. */
export function unsupportedContainers(pod: Pod, message: string): Map<string, Waiting> {
  const first = containersOf(pod).filter(({ role }) => role !== "ephemeral");
  return new Map(first.map(({ name }) => [name, { reason: UNSUPPORTED, message }]));
}

function hasRun({ status }: Pod): boolean {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.some(({ containerID }) => containerID !== undefined && containerID !== "");
}
