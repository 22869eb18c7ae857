import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Logger, Random } from "@fjord/base";
import { type ClusterConfig, EventRecorder, KubeClient } from "@fjord/kube";
import { ApiReviewer, Guard, KubeletServer, type ServingTls } from "../kubelet-api/index.ts";
import {
  type MachineCapacity,
  type MachineInfo,
  type ResourcePlan,
  readMachineCapacity,
  readMachineInfo,
} from "../machine/index.ts";
import { ApiPodObjects } from "../objects/index.ts";
import { PodManager } from "../pod/pod-manager.ts";
import type { DnsSettings } from "../pod/pod-settings.ts";
import { ApiPodSource } from "../pod-source/index.ts";
import { NodeRegistration, type Taint } from "../registration/index.ts";
import { inThousandths, inUnits, parseQuantity } from "../resources/quantity.ts";
import type { Runtime } from "../runtime/index.ts";
import { NodeStore } from "../store/index.ts";
import { LocalVolumes } from "../volumes/index.ts";
import { NodeBackend } from "./node-backend.ts";
import { NodeState } from "./node-state.ts";
import { NodeSummary } from "./node-summary.ts";

export interface NodeAgentOptions {
  readonly nodeName: string;
  /** At most one of each family; the first is the primary one. */
  readonly addresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly stateDirectory: string;
  readonly cluster: ClusterConfig;
  /** By the handlers of RuntimeClasses; the one of the empty handler is the default. */
  readonly runtimes: ReadonlyMap<string, Runtime>;
  readonly resources: ResourcePlan;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The machine's own resolver settings. */
  readonly hostDns?: DnsSettings;
  readonly cgroupRoot: string;
  /** Of the kubelet API. */
  readonly tls: ServingTls;
  /** @default 10250 */
  readonly port?: number;
  /** Where the kubelet API listens. @default all addresses */
  readonly host?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A node: registered with an API, running the pods that are bound to it, serving the kubelet API. */
export class NodeAgent {
  readonly #options: NodeAgentOptions;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Its pods go on running then, and the next run takes them over. */
  async run(signal: AbortSignal): Promise<void> {
    const { stateDirectory, clock, logger } = this.#options;
    await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
    const [capacity, machine] = await Promise.all([readMachineCapacity({ stateDirectory }), readMachineInfo()]);
    using store = await NodeStore.open({ file: join(stateDirectory, "node.db"), clock, logger });
    const client = new KubeClient(this.#options.cluster);
    const failed = new AbortController();
    try {
      const parts = this.#parts(client, store, capacity, machine);
      await runAll(parts, AbortSignal.any([signal, failed.signal]), failed);
    } finally {
      await client.close();
    }
  }

  #parts(client: KubeClient, store: NodeStore, capacity: MachineCapacity, machine: MachineInfo): Part[] {
    const options = this.#options;
    const { nodeName, addresses, labels, stateDirectory, clusterDomain, clock, random, logger } = options;
    const shared = { client, clock, random, logger };
    const runtimes = [...new Set(options.runtimes.values())];
    const events = new EventRecorder({ ...shared, component: "kubelet", instance: nodeName });
    const source = new ApiPodSource({ ...shared, store, nodeName });
    const objects = new ApiPodObjects({ ...shared, store });
    const node = () => ({ name: nodeName, labels });
    const volumes = new LocalVolumes({ stateDirectory, objects, node, clusterDomain, logger });
    const state: NodeState = new NodeState({
      nodeName,
      addresses,
      machine,
      capacity,
      resources: options.resources,
      runtimes,
      kubeletPort: () => options.port ?? 10250,
      onChange: () => registration.changed(),
      clock,
      logger,
    });
    const manager = new PodManager({
      ...shared,
      source,
      objects,
      volumes,
      events,
      runtimes,
      runtimeOf: (handler) => options.runtimes.get(handler),
      settings: {
        nodeName,
        hostIPs: addresses,
        stateDirectory,
        clusterDns: options.clusterDns,
        clusterDomain,
        ...(options.hostDns && { hostDns: options.hostDns }),
        cgroupRoot: options.cgroupRoot,
        memoryCapacity: capacity.memoryBytes,
        allocatable: amountsOf(state.allocatable),
      },
    });
    const summary = new NodeSummary({ nodeName, stateDirectory, runtimes, manager, volumes, clock, logger });
    const backend = new NodeBackend({
      manager,
      summary: (signal) => summary.read(signal),
      healthy: () => {
        if (state.problem !== undefined) throw new Error(state.problem);
      },
      clock,
    });
    const guard = new Guard({ reviewer: new ApiReviewer(client), nodeName, clock });
    const server: KubeletServer = new KubeletServer({
      backend,
      guard,
      tls: options.tls,
      ...(options.host !== undefined && { host: options.host }),
      ...(options.port !== undefined && { port: options.port }),
      log: logger,
      clock,
    });
    const identity = { name: nodeName, labels, taints: options.taints, machine: machine.machineID };
    const registration = new NodeRegistration({ ...shared, identity, facts: () => state.facts() });
    return [
      ["events", events],
      ["pod source", source],
      ["pod objects", objects],
      ["kubelet API", server],
      ["node state", state],
      ["registration", registration],
      ["pods", manager],
    ];
  }
}

type Part = readonly [name: string, part: { run(signal: AbortSignal): Promise<void> }];

/** Runs all of them; where one fails, the others are stopped and its error is thrown. */
async function runAll(parts: readonly Part[], signal: AbortSignal, failed: AbortController): Promise<void> {
  const settled = await Promise.allSettled(
    parts.map(async ([, part]) => {
      try {
        await part.run(signal);
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    }),
  );
  const failure = settled.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

/** Processors in thousandths, everything else in its unit. */
function amountsOf(quantities: Readonly<Record<string, string>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(quantities).map(([name, text]) => {
      const quantity = parseQuantity(text);
      return [name, name === "cpu" ? inThousandths(quantity) : inUnits(quantity)];
    }),
  );
}
