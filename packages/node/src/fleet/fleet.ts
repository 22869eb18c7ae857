import { aborted, Backoff, type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import { Cache, type ClusterConfig, isNotFound, KubeClient, Node, trimManagedFields } from "@fjord/kube";
import { type Part, runAll } from "../agent/run-all.ts";
import { defaultRestartTiming, type RestartTiming } from "../pod/plan/restart-delay.ts";
import { CallLimit } from "../pod/worker/call-limit.ts";
import { kubeletVersion, type NodeFacts, standardLabels } from "../registration/index.ts";
import { AddressRange, matchesAny, type Rules } from "../runtimes/simulated/index.ts";
import { FJORD_VERSION } from "../version.ts";
import { FleetNode, type NodePlan } from "./fleet-node.ts";
import { FLEET_TIMING, FleetPods } from "./fleet-pods.ts";

export interface FleetOptions {
  readonly config: ClusterConfig;
  /** Names the fleet: its nodes are `<name>-1`, `<name>-2` and so on, and no other process may simulate them. */
  readonly name: string;
  readonly nodes: number;
  readonly rules: Rules;
  /** @default 10.64.0.0/10 */
  readonly podRange?: string;
  /** Each node has one address of it. @default 127.64.0.0/12 */
  readonly nodeRange?: string;
  readonly capacity?: Readonly<Record<string, string>>;
  /** Of the kubelet API, where something serves it. */
  readonly kubeletPort?: number;
  readonly parallelRequests?: number;
  readonly requestsPerSecond?: number;
  readonly restartTiming?: Partial<RestartTiming>;
  readonly leaseSeconds?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export const FLEET_LABEL = "simulated.fjord.dev/fleet";
const CAPACITY = { cpu: "32", memory: "256Gi", pods: "110", "ephemeral-storage": "1Ti" };
/** Registrations under way at once. */
const AT_ONCE = 32;
const HEARTBEAT_CONNECTIONS = 8;

/** Thousands of simulated nodes in one process: one watch for their pods, one for themselves. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #nodes = new Map<string, { readonly node: FleetNode; readonly end: AbortController }>();
  readonly #nodeRange: AddressRange;
  readonly #client: KubeClient;
  /** Signs of life do not wait behind the statuses of pods. */
  readonly #heartbeats: KubeClient;
  readonly #starts = new CallLimit(AT_ONCE);
  readonly pods: FleetPods;
  #rules: Rules;
  #wanted: number;
  #signal: AbortSignal | undefined;
  #nodeInfo: NodeFacts["nodeInfo"] | undefined;
  readonly #running = new Set<Promise<void>>();

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#rules = options.rules;
    this.#wanted = options.rules.nodeCount ?? options.nodes;
    this.#nodeRange = new AddressRange(options.nodeRange ?? "127.64.0.0/12");
    const { clock, random, logger, parallelRequests, requestsPerSecond } = options;
    this.#client = new KubeClient(options.config, { clock, connections: parallelRequests ?? 24 });
    this.#heartbeats = new KubeClient(options.config, { clock, connections: HEARTBEAT_CONNECTIONS });
    this.pods = new FleetPods({
      client: this.#client,
      host: (name) => this.#nodes.get(name)?.node,
      rules: () => this.#rules.pods,
      addresses: new AddressRange(options.podRange ?? "10.64.0.0/10"),
      timing: { ...defaultRestartTiming, ...options.restartTiming },
      ...(parallelRequests !== undefined && { parallel: parallelRequests }),
      ...(requestsPerSecond !== undefined && { requestsPerSecond }),
      clock,
      random,
      logger,
    });
  }

  get client(): KubeClient {
    return this.#client;
  }

  get name(): string {
    return this.#options.name;
  }

  /** PEM: whose client certificates the cluster believes. */
  get authority(): string | undefined {
    return this.#options.config.tls.ca;
  }

  get size(): number {
    return this.#nodes.size;
  }

  node(name: string): FleetNode | undefined {
    return this.#nodes.get(name)?.node;
  }

  /** The node that has an address. */
  nodeAt(address: string): FleetNode | undefined {
    const index = this.#nodeRange.indexOf(address);
    return index === undefined ? undefined : this.node(this.#nameOf(index));
  }

  /** Runs until the signal aborts. Nodes and pods stay as they are then; the next run goes on with them. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, name } = this.#options;
    this.#signal = signal;
    try {
      this.#nodeInfo = await this.#describe(signal);
      if (signal.aborted) return;
      const nodes = new Cache({
        client: this.#heartbeats,
        kind: Node,
        scope: { labelSelector: `${FLEET_LABEL}=${name}` },
        transform: trimNode,
        timing: FLEET_TIMING,
        clock,
        random,
        logger,
      });
      nodes.addHandler({
        onAdd: (node) => this.node(node.metadata.name ?? "")?.obey(node),
        onUpdate: (_, node) => this.node(node.metadata.name ?? "")?.obey(node),
      });
      this.#resize(this.#wanted);
      const parts: Part[] = [nodes, this.pods, { run: (end) => this.#told(end) }];
      await runAll(parts, signal);
      await Promise.all(this.#running);
    } finally {
      await Promise.all([this.#client.close(), this.#heartbeats.close()]);
    }
  }

  /** Resolves when all nodes are registered. */
  async registered(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map(({ node }) => node.registered));
  }

  /** Makes nodes more or fewer: the last ones go, and their Node objects with them. */
  async scale(count: number): Promise<void> {
    this.#wanted = count;
    if (this.#signal === undefined) return;
    const gone = this.#resize(count);
    await Promise.all(gone.map((name) => this.#delete(name)));
  }

  /** Takes new rules; pods and nodes that are there follow them from now on. */
  async follow(rules: Rules): Promise<void> {
    this.#rules = rules;
    for (const name of this.#nodes.keys()) this.pods.wake(name);
    if (rules.nodeCount !== undefined) await this.scale(rules.nodeCount);
  }

  #resize(count: number): string[] {
    const gone: string[] = [];
    for (let index = this.#nodes.size; index > count; index--) {
      const name = this.#nameOf(index);
      this.#nodes.get(name)?.end.abort();
      this.#nodes.delete(name);
      gone.push(name);
    }
    for (let index = this.#nodes.size + 1; index <= count; index++) this.#add(index);
    return gone;
  }

  #add(index: number): void {
    const { clock, random, logger, leaseSeconds } = this.#options;
    const signal = this.#signal as AbortSignal;
    const node: FleetNode = new FleetNode({
      plan: this.#plan(index),
      client: this.#heartbeats,
      onReturn: () => this.pods.wake(node.name),
      ...(leaseSeconds !== undefined && { leaseSeconds }),
      clock,
      random,
      logger,
    });
    const end = new AbortController();
    this.#nodes.set(node.name, { node, end });
    const either = AbortSignal.any([signal, end.signal]);
    void this.#starts.run(async () => {
      if (either.aborted) return;
      const running = node.run(either).finally(() => this.#running.delete(running));
      this.#running.add(running);
      await Promise.race([node.registered, running]);
    });
    // Pods may have come before their node.
    if (this.pods.hasSynced) this.pods.wake(node.name);
  }

  #plan(index: number): NodePlan {
    const { kubeletPort, name: fleet } = this.#options;
    const name = this.#nameOf(index);
    const rules = this.#rules.nodes.filter(({ names }) => names === undefined || matchesAny(names, name));
    const own = Object.assign({ [FLEET_LABEL]: fleet }, ...rules.map(({ labels }) => labels));
    const notReady = rules.findLast((rule) => rule.notReady !== undefined)?.notReady;
    const away = rules.findLast((rule) => rule.away !== undefined)?.away;
    return {
      name,
      address: this.#nodeRange.at(index),
      labels: standardLabels({
        nodeName: name,
        hostname: name,
        architecture: "amd64",
        operatingSystem: "linux",
        runtime: "simulated",
        own,
      }),
      taints: rules.flatMap(({ taints }) => taints),
      capacity: Object.assign({}, CAPACITY, this.#options.capacity, ...rules.map(({ capacity }) => capacity)),
      nodeInfo: this.#nodeInfo as NodeFacts["nodeInfo"],
      ...(kubeletPort !== undefined && { kubeletPort }),
      ...(notReady && { notReady }),
      ...(away && { away }),
    };
  }

  async #delete(name: string): Promise<void> {
    try {
      await this.#heartbeats.delete(Node, { name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #told(signal: AbortSignal): Promise<void> {
    const { logger, name } = this.#options;
    const all = this.registered().then(() => {
      if (!signal.aborted) logger.info("all nodes of the fleet are registered", { fleet: name, nodes: this.size });
    });
    await Promise.race([all, aborted(signal)]);
    await aborted(signal);
  }

  async #describe(signal: AbortSignal): Promise<NodeFacts["nodeInfo"]> {
    const version = await this.#version(signal);
    return {
      machineID: "",
      systemUUID: "",
      bootID: "",
      kernelVersion: "simulated",
      osImage: "Fjord simulated node",
      containerRuntimeVersion: `simulated://${FJORD_VERSION}`,
      kubeletVersion: kubeletVersion(version, FJORD_VERSION),
      kubeProxyVersion: "",
      operatingSystem: "linux",
      architecture: "amd64",
    };
  }

  /** Waits for an API that is away: nodes that begin without its version would all be written twice. */
  async #version(signal: AbortSignal): Promise<string | undefined> {
    const { clock, random, logger } = this.#options;
    const backoff = new Backoff({ initial: 200, max: 5_000, random });
    while (!signal.aborted) {
      try {
        const { body } = await this.#client.raw("GET", "/version", { signal });
        return (JSON.parse(body.toString("utf8")) as { gitVersion?: string }).gitVersion;
      } catch (error) {
        if (signal.aborted) break;
        if (backoff.failures === 0) logger.warn("the API server does not answer yet", { error: describeError(error) });
        await sleep(clock, backoff.next(), signal);
      }
    }
    return undefined;
  }

  #nameOf(index: number): string {
    return `${this.#options.name}-${index}`;
  }
}

/** What the simulation reads of a Node. */
function trimNode(node: Node): Node {
  const { name, uid, resourceVersion, annotations } = trimManagedFields(node).metadata;
  const metadata = { name, uid, resourceVersion, ...(annotations && { annotations }) };
  const conditions = node.status?.conditions?.map(({ type, status }) => ({ type, status }));
  return { apiVersion: "v1", kind: "Node", metadata, ...(conditions && { status: { conditions } }) } as Node;
}
