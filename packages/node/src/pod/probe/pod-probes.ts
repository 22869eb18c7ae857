import type { RuntimeContainer } from "../../runtime/index.ts";
import { reportedStatus } from "../plan/last-end.ts";
import type { Unwell } from "../plan/plan-input.ts";
import { containerOf } from "../pod-containers.ts";
import { containerIdText } from "../status/container-state.ts";
import { type Say, sayer, type WorkerContext } from "../worker/pod-services.ts";
import { ContainerProbes } from "./container-probes.ts";

/** The probes of one pod's running containers. */
export class PodProbes {
  readonly #context: WorkerContext;
  readonly #say: Say;
  readonly #probes = new Map<string, ContainerProbes>();

  constructor(context: WorkerContext) {
    this.#context = context;
    this.#say = sayer(context, context.pod);
  }

  /** Probes exactly these from now on. */
  follow(running: readonly RuntimeContainer[], isEnding: boolean): void {
    const ids = new Set(running.map(({ id }) => id));
    for (const [id, probes] of this.#probes) {
      if (ids.has(id)) continue;
      probes.stop();
      this.#probes.delete(id);
    }
    for (const container of running) if (!this.#probes.has(container.id)) this.#begin(container);
    if (isEnding) for (const probes of this.#probes.values()) probes.endLiveness();
  }

  /** The container is being stopped. */
  endLiveness(id: string): void {
    this.#probes.get(id)?.endLiveness();
  }

  started(): Set<string> {
    return this.#those((probes) => probes.isStarted);
  }

  ready(): Set<string> {
    return this.#those((probes) => probes.isReady);
  }

  unwell(): Map<string, Unwell> {
    const unwell = new Map<string, Unwell>();
    for (const [id, probes] of this.#probes) {
      const reason = probes.unwell;
      if (reason !== undefined) unwell.set(id, reason);
    }
    return unwell;
  }

  stop(): void {
    for (const probes of this.#probes.values()) probes.stop();
    this.#probes.clear();
  }

  #begin(container: RuntimeContainer): void {
    const { pod, view, facts, clock, wake } = this.#context;
    const known = containerOf(pod(), container.name);
    if (known === undefined) return;
    const probes = new ContainerProbes({
      runtime: view.runtime,
      id: container.id,
      // Ephemeral and init containers have none, and the API says so.
      spec: known.spec,
      podIP: facts().podIPs[0] ?? "",
      startedAt: container.startedAt ?? container.createdAt,
      before: this.#before(container),
      say: (type, reason, message) => this.#say(type, reason, message, container.name),
      wake,
      clock,
    });
    this.#probes.set(container.id, probes);
  }

  /** After a restart of the node, what it had found out of a container still holds until a probe says otherwise. */
  #before({ name, id }: RuntimeContainer): { started: boolean; ready: boolean } {
    const { pod, view } = this.#context;
    const status = reportedStatus(pod(), name);
    const isSame = status?.containerID === containerIdText(view.runtimeName, id);
    return { started: isSame && status.started === true, ready: isSame && status.ready };
  }

  #those(holds: (probes: ContainerProbes) => boolean): Set<string> {
    return new Set([...this.#probes].filter(([, probes]) => holds(probes)).map(([id]) => id));
  }
}
