import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { inThousandths, inUnits, parseQuantity } from "@fjord/kube";
import {
  allocatableOf,
  capacityOf,
  type MachineCapacity,
  type MachineInfo,
  type ResourcePlan,
} from "../machine/index.ts";
import {
  type ConditionFacts,
  healthyConditions,
  kubeletVersion,
  type NodeFacts,
  nodeImages,
  notReady,
} from "../registration/index.ts";
import type { Runtime, RuntimeVersion } from "../runtime/index.ts";
import { FJORD_VERSION } from "../version.ts";

export interface NodeStateOptions {
  readonly client: Pick<KubeClient, "raw">;
  readonly nodeName: string;
  readonly addresses: readonly string[];
  readonly machine: MachineInfo;
  readonly capacity: MachineCapacity;
  readonly resources: ResourcePlan;
  /** The first one is the default. */
  readonly runtimes: readonly Runtime[];
  readonly kubeletPort: number;
  /** The conditions of memory, disk and processes. */
  readonly pressure: () => readonly ConditionFacts[];
  /** Called when something has changed that should be known at once. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOK_MS = 5_000;
/** Whatever the API server does, the runtime is looked at. */
const ANSWER_MS = 1_000;
const IMAGES_MS = 60_000;

/** What the node can say of itself: asked for at any time, looked at every few seconds. */
export class NodeState {
  readonly allocatable: Readonly<Record<string, string>>;
  readonly #options: NodeStateOptions;
  readonly #capacity: Readonly<Record<string, string>>;
  #version: RuntimeVersion | undefined;
  #problem: string | undefined = "the runtime has not been asked yet";
  #asked = false;
  #images: NodeFacts["images"];
  #imagesAgain = 0;
  #serverVersion: string | undefined;

  constructor(options: NodeStateOptions) {
    this.#options = options;
    this.#capacity = capacityOf(options.capacity, options.resources);
    this.allocatable = allocatableOf(this.#capacity, options.resources);
  }

  /** Why pods cannot be started now; undefined where they can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** What pods may ask for: processors in thousandths, everything else in its unit. */
  get amounts(): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.allocatable).map(([name, text]) => {
        const quantity = parseQuantity(text);
        return [name, name === "cpu" ? inThousandths(quantity) : inUnits(quantity)];
      }),
    );
  }

  /** Undefined until the runtime was asked: a restart is no illness. */
  facts(): NodeFacts | undefined {
    if (!this.#asked) return undefined;
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
        kubeletVersion: kubeletVersion(this.#serverVersion, FJORD_VERSION),
        kubeProxyVersion: "",
      },
      kubeletPort,
      ...(this.#images && { images: this.#images }),
    };
  }

  /** Looks at the runtimes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const problem = await this.#look(signal);
      if (signal.aborted) return;
      const first = !this.#asked;
      this.#asked = true;
      if (first || problem !== this.#problem) this.#turn(problem);
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
    this.#serverVersion ??= await this.#askVersion(signal);
    try {
      const [main] = this.#options.runtimes;
      this.#version ??= await main?.version(signal);
      for (const runtime of this.#options.runtimes) {
        const { ready, message } = await runtime.health(signal);
        if (!ready) return message ?? "the container runtime is not ready";
      }
      await this.#lookAtImages(signal);
      return undefined;
    } catch (error) {
      this.#version = undefined;
      return describeError(error);
    }
  }

  /** Schedulers prefer nodes that have a pod's image already. */
  async #lookAtImages(signal: AbortSignal): Promise<void> {
    const { runtimes, clock } = this.#options;
    if (clock.now() < this.#imagesAgain) return;
    this.#imagesAgain = clock.now() + IMAGES_MS;
    const all = await Promise.all(runtimes.map(({ images }) => images?.list(signal) ?? []));
    this.#images = nodeImages(all.flat());
  }

  /** A node must not claim to be newer than its API server. */
  async #askVersion(signal: AbortSignal): Promise<string | undefined> {
    try {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
      const { body } = await this.#options.client.raw("GET", "/version", { signal: patience });
      const { gitVersion } = JSON.parse(Buffer.from(body).toString()) as { gitVersion?: string };
      return gitVersion;
    } catch (error) {
      this.#options.logger.debug("the API server does not tell its version", { error: describeError(error) });
      return undefined;
    }
  }

  #conditions(): ConditionFacts[] {
    const pressure = this.#options.pressure();
    const overrides = this.#problem === undefined ? pressure : [...pressure, notReady(this.#problem)];
    return healthyConditions().map((usual) => overrides.find(({ type }) => type === usual.type) ?? usual);
  }
}
