import type { Pod } from "@fjord/kube";
import type { RuntimeContainer, RuntimeSandbox } from "../../runtime/index.ts";
import { annotations } from "../annotations.ts";
import { observePod } from "../observed-pod.ts";
import type { PlanInput, PodEnd, Unwell } from "./plan-input.ts";
import { type PodAction, type PodPlan, planPod } from "./pod-plan.ts";
import { defaultRestartTiming } from "./restart-delay.ts";

type Changing<T> = { -readonly [K in keyof T]: T[K] };
type ModelContainer = Changing<RuntimeContainer>;
type ModelSandbox = Changing<Omit<RuntimeSandbox, "containers">> & { containers: ModelContainer[] };

/** A pod and its runtime for tests of plans: every action takes effect at once. */
export class PlanModel {
  readonly pod: Pod;
  readonly sandboxes: ModelSandbox[] = [];
  readonly unwell = new Map<string, Unwell>();
  /** Names of sidecars that have not passed their startup probe. */
  readonly notStarted = new Set<string>();
  now = 1_000_000_000;
  end: PodEnd | undefined;
  #next = 1;

  constructor(pod: Pod) {
    this.pod = pod;
  }

  input(): PlanInput {
    const running = this.containers().filter(({ state }) => state === "running");
    return {
      pod: this.pod,
      observed: observePod(this.sandboxes),
      now: this.now,
      ...(this.end && { end: this.end }),
      starting: new Set(),
      stopping: new Map(),
      started: new Set(running.filter(({ name }) => !this.notStarted.has(name)).map(({ id }) => id)),
      unwell: this.unwell,
      retryAt: new Map(),
      sandboxBusy: false,
      timing: defaultRestartTiming,
    };
  }

  plan(): PodPlan {
    return planPod(this.input());
  }

  containers(): ModelContainer[] {
    return this.sandboxes.flatMap(({ containers }) => containers);
  }

  running(): string[] {
    return this.containers()
      .filter(({ state }) => state === "running")
      .map(({ name }) => name);
  }

  exit(name: string, exitCode: number): void {
    for (const container of this.containers()) {
      if (container.name === name && container.state === "running") this.#exit(container, exitCode);
    }
  }

  loseSandbox(): void {
    const [sandbox] = this.sandboxes;
    if (sandbox === undefined) return;
    sandbox.state = "notReady";
    for (const container of sandbox.containers) if (container.state === "running") this.#exit(container, 137);
  }

  carryOut(action: PodAction): void {
    switch (action.do) {
      case "runSandbox":
        this.#runSandbox(action.attempt);
        break;
      case "stopSandbox":
        for (const sandbox of this.sandboxes.filter(({ id }) => id === action.id)) {
          sandbox.state = "notReady";
          for (const container of sandbox.containers) if (container.state === "running") this.#exit(container, 137);
        }
        break;
      case "removeSandbox":
        this.sandboxes.splice(
          this.sandboxes.findIndex(({ id }) => id === action.id),
          1,
        );
        break;
      case "start":
        this.#start(action);
        break;
      case "stop":
        this.exit(action.container.name, 0);
        break;
      case "remove":
        for (const sandbox of this.sandboxes) {
          sandbox.containers = sandbox.containers.filter(({ id }) => id !== action.container.id);
        }
        break;
    }
  }

  /** Plans and acts until there is nothing to do; waits for what has to wait. Gives the number of rounds. */
  rest(limit = 100): number {
    for (let round = 0; round < limit; round++) {
      const { actions, wakeAt } = this.plan();
      for (const action of actions) this.carryOut(action);
      if (actions.length > 0) continue;
      if (wakeAt === undefined) return round;
      this.now = Math.max(wakeAt, this.now + 1);
    }
    throw new Error(`no rest within ${limit} rounds`);
  }

  #runSandbox(attempt: number): void {
    this.sandboxes.unshift({
      id: `s${this.#next++}`,
      pod: { uid: "uid", namespace: "default", name: "pod" },
      attempt,
      state: "ready",
      createdAt: this.now,
      addresses: ["10.0.0.1"],
      annotations: {},
      containers: [],
    });
  }

  #start({ container, attempt, restartDelay }: Extract<PodAction, { do: "start" }>): void {
    const [sandbox] = this.sandboxes;
    if (sandbox?.state !== "ready") throw new Error(`${container.name} started without a sandbox`);
    sandbox.containers.unshift({
      id: `c${this.#next++}`,
      sandbox: sandbox.id,
      name: container.name,
      attempt,
      state: "running",
      createdAt: this.now,
      startedAt: this.now,
      image: container.spec.image ?? "",
      imageId: "",
      annotations: {
        [annotations.restartDelay]: String(restartDelay),
        [annotations.image]: container.spec.image ?? "",
      },
      logFile: "",
    });
  }

  #exit(container: ModelContainer, exitCode: number): void {
    container.state = "exited";
    container.exitCode = exitCode;
    container.finishedAt = this.now;
    this.unwell.delete(container.id);
  }
}
