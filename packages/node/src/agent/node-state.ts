import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import {
  allocatableOf,
  capacityOf,
  type MachineCapacity,
  type MachineInfo,
  type ResourcePlan,
} from "../machine/index.ts";
import { type ConditionFacts, healthyConditions, type NodeFacts, notReady } from "../registration/index.ts";
import type { Runtime, RuntimeVersion } from "../runtime/index.ts";
import { nodeVersion } from "./node-version.ts";

export interface NodeStateOptions {
  readonly nodeName: string;
  readonly addresses: readonly string[];
  readonly machine: MachineInfo;
  readonly capacity: MachineCapacity;
  readonly resources: ResourcePlan;
  /** The first one is the default. */
  readonly runtimes: readonly Runtime[];
  readonly kubeletPort: () => number;
  /** Called when something has changed that should be known at once. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOK_MS = 5_000;

/** What the node can say of itself: asked for at any time, looked at every few seconds. */
export class NodeState {
  readonly allocatable: Readonly<Record<string, string>>;
  readonly #options: NodeStateOptions;
  readonly #capacity: Readonly<Record<string, string>>;
  #version: RuntimeVersion | undefined;
  #problem: string | undefined = "the container runtime has not answered yet";
  #pressure: readonly ConditionFacts[] = [];

  constructor(options: NodeStateOptions) {
    this.#options = options;
    this.#capacity = capacityOf(options.capacity, options.resources);
    this.allocatable = allocatableOf(this.#capacity, options.resources);
  }

  /** Why pods cannot be started now; undefined where they can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Replaces the conditions of the same types. */
  setPressure(conditions: readonly ConditionFacts[]): void {
    this.#pressure = conditions;
    this.#options.onChange();
  }

  facts(): NodeFacts {
    const { nodeName, addresses, machine, kubeletPort } = this.#options;
    const { name, version } = this.#version ?? { name: "", version: "" };
    return {
      addresses: [
        ...addresses.map((address) => ({ type: "InternalIP", address })),
        { type: "Hostname", address: nodeName },
      ],
      capacity: this.#capacity,
      allocatable: this.allocatable,
      conditions: this.#conditions(),
      nodeInfo: {
        ...machine,
        containerRuntimeVersion: name === "" ? "" : `${name}://${version}`,
        kubeletVersion: nodeVersion,
        kubeProxyVersion: "",
      },
      kubeletPort: kubeletPort(),
    };
  }

  /** Looks at the runtimes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const problem = await this.#look(signal);
      if (signal.aborted) return;
      if (problem !== this.#problem) this.#turn(problem);
      await sleep(this.#options.clock, LOOK_MS, signal);
    }
  }

  #turn(problem: string | undefined): void {
    const { logger, onChange } = this.#options;
    if (problem === undefined) logger.info("the runtime takes pods");
    else logger.warn("the runtime takes no pods", { reason: problem });
    this.#problem = problem;
    onChange();
  }

  async #look(signal: AbortSignal): Promise<string | undefined> {
    try {
      const [main] = this.#options.runtimes;
      this.#version ??= await main?.version(signal);
      for (const runtime of this.#options.runtimes) {
        const { ready, message } = await runtime.health(signal);
        if (!ready) return message ?? "the container runtime is not ready";
      }
      return undefined;
    } catch (error) {
      this.#version = undefined;
      return describeError(error);
    }
  }

  #conditions(): ConditionFacts[] {
    const overrides = this.#problem === undefined ? this.#pressure : [...this.#pressure, notReady(this.#problem)];
    return healthyConditions().map((usual) => overrides.find(({ type }) => type === usual.type) ?? usual);
  }
}
