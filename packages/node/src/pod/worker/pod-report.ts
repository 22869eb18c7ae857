import type { Pod } from "@fjord/kube";
import { newest, type ObservedPod } from "../observed-pod.ts";
import { reportedStatus } from "../plan/last-end.ts";
import type { PodPlan } from "../plan/pod-plan.ts";
import { containersOf, type PodStatus, podText, uidOf } from "../pod-containers.ts";
import { containerIdText } from "../status/container-state.ts";
import { ownConditions } from "../status/pod-conditions.ts";
import { podStatus } from "../status/pod-status.ts";
import type { StatusInput } from "../status/status-input.ts";
import { lastWords } from "./last-words.ts";
import { type Say, sayer, type WorkerContext } from "./pod-services.ts";

export type ReportInput = Omit<StatusInput, "pod" | "messages" | "hostIPs" | "runtimeName">;

const CANNOT_RUN = "ContainerCannotRun";

/** What a node says of one pod: its status, and events about waiting containers. */
export class PodReport {
  readonly #context: WorkerContext;
  readonly #say: Say;
  /** Last words of ended containers, by id. */
  readonly #messages = new Map<string, string>();
  /** Ids of ended containers of which it was told that the next has to wait. */
  readonly #toldBackOff = new Set<string>();
  /** Ids of those of which it was told that their program could not be run. */
  readonly #toldProblem = new Set<string>();
  #status: PodStatus | undefined;

  constructor(context: WorkerContext) {
    this.#context = context;
    this.#say = sayer(context, context.pod);
  }

  /** As it was last made. */
  get status(): PodStatus | undefined {
    return this.#status;
  }

  /** The pod with the newest status known: the node's own may not have reached the API yet. */
  known(): Pod {
    const pod = this.#context.pod();
    if (this.#status === undefined) return pod;
    const isOwn = ({ type }: { type: string }) => ownConditions.includes(type);
    const conditions = [
      ...(this.#status.conditions ?? []).filter(isOwn),
      ...(pod.status?.conditions ?? []).filter((condition) => !isOwn(condition)),
    ];
    return { ...pod, status: { ...pod.status, ...this.#status, conditions } };
  }

  /** Reads what has to be known for the status of containers that have ended. */
  async prepare(observed: ObservedPod): Promise<void> {
    for (const { name, spec } of containersOf(this.#context.pod())) {
      for (const container of (observed.containers.get(name) ?? []).slice(0, 2)) {
        if (container.state !== "exited" || this.#messages.has(container.id)) continue;
        const reported = this.#reportedMessage(name, container.id);
        const fallsBack = spec.terminationMessagePolicy === "FallbackToLogsOnError";
        this.#messages.set(container.id, reported ?? (await lastWords(container, fallsBack)));
      }
    }
  }

  /** Makes the status anew, and passes it on while the API wants it. */
  make(input: ReportInput, given: Pod, isGone: boolean): void {
    const { settings, view, statuses } = this.#context;
    this.#status = podStatus({
      ...input,
      pod: this.known(),
      messages: this.#messages,
      hostIPs: settings.hostIPs,
      runtimeName: view.runtimeName,
    });
    if (!isGone) statuses.set(given, this.#status);
  }

  tellBackOffs({ waiting }: PodPlan, observed: ObservedPod): void {
    for (const [name, { reason }] of waiting) {
      const last = newest(observed, name);
      if (reason !== "CrashLoopBackOff" || last === undefined || this.#toldBackOff.has(last.id)) continue;
      this.#toldBackOff.add(last.id);
      const message = `Back-off restarting failed container ${name} in pod ${podText(this.#context.pod())}`;
      this.#say("Warning", "BackOff", message, name);
    }
  }

  /** Runtimes that find out only after the start that a program cannot be run say so by how it ended. */
  tellProblems(observed: ObservedPod): void {
    for (const [name, [last]] of observed.containers) {
      if (last?.reason !== CANNOT_RUN || this.#toldProblem.has(last.id)) continue;
      this.#toldProblem.add(last.id);
      // Told before a restart of the node.
      if (this.#reportedMessage(name, last.id) !== undefined) continue;
      this.#say("Warning", "Failed", `Error: ${last.message ?? "the program cannot be run"}`, name);
    }
  }

  /** Whether all of it is in the API. */
  get isWritten(): boolean {
    return this.#context.statuses.isWritten(uidOf(this.#context.pod()));
  }

  /** Forgets all containers but these. */
  forgetOld(ids: ReadonlySet<string>): void {
    for (const id of this.#messages.keys()) if (!ids.has(id)) this.#messages.delete(id);
    for (const id of this.#toldProblem) if (!ids.has(id)) this.#toldProblem.delete(id);
    for (const id of this.#toldBackOff) if (!ids.has(id)) this.#toldBackOff.delete(id);
  }

  /** After a restart of the node, the file may be gone that the message came from. */
  #reportedMessage(name: string, id: string): string | undefined {
    const status = reportedStatus(this.#context.pod(), name);
    const whole = containerIdText(this.#context.view.runtimeName, id);
    const ends = [status?.state?.terminated, status?.lastState?.terminated];
    return ends.find((terminated) => terminated?.containerID === whole)?.message;
  }
}
