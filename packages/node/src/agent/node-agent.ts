import { join } from "node:path";
import type { Clock, Logger, Random } from "@fjord/base";
import { EventRecorder, KubeClient, Node } from "@fjord/kube";
import { ApiReviewer, Guard, KubeletServer } from "../kubelet-api/index.ts";
import { LogRotator } from "../logs/index.ts";
import { EvictionManager, type Threshold } from "../machine/eviction/index.ts";
import { ImageCollector } from "../machine/images/index.ts";
import {
  type MachineCapacity,
  type MachineInfo,
  type ResourcePlan,
  readFileSystem,
  readMachineCapacity,
  readMachineInfo,
} from "../machine/index.ts";
import { ApiPodObjects } from "../objects/index.ts";
import { PodManager } from "../pod/pod-manager.ts";
import type { DnsSettings } from "../pod/pod-settings.ts";
import { ApiPodSource } from "../pod-source/index.ts";
import {
  type JoinedCluster,
  LOOPBACK_RANGE_ANNOTATION,
  NodeEvents,
  NodeRegistration,
  ServingCertificate,
  STAND_IN_RANGE_ANNOTATION,
  standardLabels,
  type Taint,
} from "../registration/index.ts";
import type { Runtime } from "../runtime/index.ts";
import { type ServiceOptions, serviceParts } from "../services/index.ts";
import type { NodeStore } from "../store/index.ts";
import { LocalVolumes } from "../volumes/index.ts";
import { NodeBackend } from "./node-backend.ts";
import { NodeState } from "./node-state.ts";
import { NodeUsage } from "./node-usage.ts";
import { reopenLog, runningLogs } from "./pod-logs.ts";
import { type Part, runAll } from "./run-all.ts";

export interface NodeAgentOptions {
  readonly nodeName: string;
  /** At most one of each family; the first is the primary one. */
  readonly addresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Has to exist. */
  readonly stateDirectory: string;
  readonly store: NodeStore;
  readonly cluster: JoinedCluster;
  /** By the handlers of RuntimeClasses; the one of the empty handler is the default. */
  readonly runtimes: ReadonlyMap<string, Runtime>;
  /** What the default runtime is called on the node's label: `cri`, `process`, `simulated`. */
  readonly runtimeName: string;
  readonly resources: ResourcePlan;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The machine's own resolver settings. */
  readonly hostDns?: DnsSettings;
  readonly cgroupRoot: string;
  readonly evictionThresholds: readonly Threshold[];
  readonly kubeletApi: KubeletApiOptions;
  /** On a site without kube-proxy. @default none are served */
  readonly services?: ServiceOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface KubeletApiOptions {
  readonly port: number;
  /** @default all addresses */
  readonly host?: string;
  /** PEM: whose client certificates are believed. */
  readonly clientCa?: string;
  /** @default a certificate that the node makes */
  readonly files?: { readonly cert: string; readonly key: string };
  /** Asks the cluster for the certificate. */
  readonly request: boolean;
  /** What the program has logged of late, for whoever may read the node's logs. */
  readonly ownLog?: () => string;
}

/** A node: registered with an API, running the pods that are bound to it, serving the kubelet API. */
export class NodeAgent {
  readonly #options: NodeAgentOptions;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Its pods go on running then, and the next run takes them over. */
  async run(signal: AbortSignal): Promise<void> {
    const { stateDirectory, cluster } = this.#options;
    const [capacity, machine] = await Promise.all([readMachineCapacity({ stateDirectory }), readMachineInfo()]);
    await using client = new KubeClient(cluster.config, { closeGraceMs: 2_000 });
    const parts = await this.#parts({ client, capacity, machine });
    await runAll(parts, signal);
  }

  async #parts(base: { client: KubeClient; capacity: MachineCapacity; machine: MachineInfo }): Promise<Part[]> {
    const { client, capacity, machine } = base;
    const options = this.#options;
    const { nodeName, addresses, stateDirectory, store, clusterDomain, cluster, clock, random, logger } = options;
    const shared = { client, clock, random, logger };
    // The default one first: the Node names it.
    const runtimes = [...new Set([options.runtimes.get(""), ...options.runtimes.values()])].filter(
      (runtime) => runtime !== undefined,
    );
    const labels = standardLabels({
      ...machine,
      nodeName,
      hostname: nodeName,
      runtime: options.runtimeName,
      own: options.labels,
    });
    const events = new EventRecorder({ ...shared, component: "kubelet", instance: nodeName });
    const source = new ApiPodSource({ ...shared, store, nodeName });
    const objects = new ApiPodObjects({ ...shared, store });
    let currentLabels: Readonly<Record<string, string>> = labels;
    const node = () => ({ name: nodeName, labels: currentLabels });
    const volumes = new LocalVolumes({ stateDirectory, objects, node, clusterDomain, logger });
    const state: NodeState = new NodeState({
      client,
      nodeName,
      addresses,
      machine,
      capacity,
      resources: options.resources,
      runtimes,
      kubeletPort: options.kubeletApi.port,
      pressure: () => eviction.conditions(),
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
      shortage: (pod) => eviction.refusal(pod),
      refreshLabels: async (signal) => {
        currentLabels = (await client.get(Node, { name: nodeName }, { signal })).metadata.labels ?? {};
      },
      // Handlers that are not the node's own are the container runtime's: it knows which it has.
      runtimeOf: (handler) => options.runtimes.get(handler) ?? options.runtimes.get("cri"),
      settings: {
        nodeName,
        hostIPs: addresses,
        stateDirectory,
        clusterDns: options.clusterDns,
        clusterDomain,
        ...(options.hostDns && { hostDns: options.hostDns }),
        cgroupRoot: options.cgroupRoot,
        memoryCapacity: capacity.memoryBytes,
        allocatable: state.amounts,
        get labels() {
          return currentLabels;
        },
      },
    });
    const memoryBytes = capacity.memoryBytes;
    const usage = new NodeUsage({ nodeName, stateDirectory, memoryBytes, runtimes, manager, volumes, clock, logger });
    const collectors = runtimes.flatMap((runtime) => {
      const { images } = runtime;
      if (images === undefined) return [];
      const measured = { list: (signal?: AbortSignal) => runtime.list(signal), images };
      return new ImageCollector({ ...shared, runtime: measured, usage: (path) => readFileSystem(path, clock) });
    });
    const eviction: EvictionManager = new EvictionManager({
      thresholds: options.evictionThresholds,
      observe: () => usage.observe(),
      usages: () => usage.podUsages(),
      overLimits: () => usage.overLimits(),
      evict: (pod, message, graceSeconds) => manager.evict(pod.metadata.uid ?? "", message, graceSeconds),
      isRunning: (uid) =>
        manager.pods().some(({ metadata, status }) => metadata.uid === uid && status?.phase === "Running"),
      reclaim: async (signal) => {
        for (const collector of collectors) await collector.collectAll(signal);
      },
      changed: () => registration.changed(),
      clock,
      logger,
    });
    const { host, port, clientCa = cluster.config.tls.ca, files, request, ownLog } = options.kubeletApi;
    const serving = new ServingCertificate({
      ...shared,
      pkiDirectory: join(stateDirectory, "pki"),
      nodeName,
      names: () => [nodeName, ...addresses],
      ...(files && { files }),
      request,
    });
    const believed = clientCa === undefined ? {} : { clientCa };
    const server = new KubeletServer({
      backend: new NodeBackend({
        manager,
        summary: (signal) => usage.summary(signal),
        healthy: () => {
          if (state.problem !== undefined) throw new Error(state.problem);
        },
        clock,
      }),
      guard: new Guard({ reviewer: new ApiReviewer(client), nodeName, clock }),
      tls: { ...(await serving.load()), ...believed },
      ...(host !== undefined && { host }),
      port,
      log: logger,
      clock,
      ...(ownLog && { ownLog }),
    });
    serving.onChange((pair) => server.setTls({ ...pair, ...believed }));
    const { loopbackRange, standInRange } = options.runtimes.get("") ?? {};
    const annotations: Record<string, string> = {
      ...(loopbackRange !== undefined && { [LOOPBACK_RANGE_ANNOTATION]: loopbackRange }),
      ...(standInRange !== undefined && { [STAND_IN_RANGE_ANNOTATION]: standInRange }),
    };
    const identity = { name: nodeName, labels, annotations, taints: options.taints, machine: machine.machineID };
    const registration = new NodeRegistration({ ...shared, identity, facts: () => state.facts() });
    // Administrators add their own.
    registration.onNode(({ metadata }) => {
      currentLabels = metadata.labels ?? labels;
    });
    const nodeEvents = new NodeEvents({ nodeName, events, clock });
    registration.onNode((node) => nodeEvents.see(node));
    nodeEvents.starting();
    const rotator = new LogRotator({
      logs: async () => runningLogs(manager),
      reopen: (id) => reopenLog(manager, id),
      log: logger,
      clock,
    });
    return [
      events,
      source,
      objects,
      server,
      { run: (signal) => serving.run(client, signal) },
      ...(cluster.certificate ? [{ run: (signal: AbortSignal) => cluster.certificate?.run(client, signal) }] : []),
      state,
      registration,
      manager,
      eviction,
      ...collectors,
      rotator,
      ...(options.services === undefined
        ? []
        : serviceParts({ ...shared, ...options.services, nodeName, nodeAddresses: addresses, clusterDomain })),
    ];
  }
}
