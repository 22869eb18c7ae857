// Two real control planes with simulated nodes, joined by fakes of what other domains do: a peer that is simply the
// provider's API, one virtual node, one twin namespace, one contract.
import {
  apiVersion,
  CONSUMER_LABEL,
  type Contract,
  ORIGIN_NAMESPACE_LABEL,
  type ShadowPod,
  type VirtualNode,
} from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { type Clock, type Logger, silentLogger, systemClock } from "@fjord/base";
import {
  CustomResourceDefinition,
  EventRecorder,
  KubeClient,
  Lease,
  Manager,
  Namespace,
  Node,
  type Pod,
  type Runnable,
  type Secret,
  SharedCaches,
} from "@fjord/kube";
import type { Bed } from "@fjord/testbed";
import { startTestBed } from "@fjord/testbed/testing";
import type { Home } from "../../home.ts";
import type { LiveContract, LiveContracts } from "../../live-contracts.ts";
import type { Reachability, RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { Twins } from "../../twins.ts";
import type { KnownVirtualNode, VirtualNodes } from "../../virtual-nodes.ts";
import { GuestPods } from "../guest/index.ts";
import { PodOffloader } from "./pod-offloader.ts";

export const CONSUMER = "consumerconsumerconsumer22";
export const PROVIDER = "providerproviderprovider22";
export const NODE = "wave";
export const SHOP = "shop";
export const TWIN = "shop-twin";

class Listeners<T extends unknown[]> {
  readonly #all = new Set<(...values: T) => void>();
  on = (listener: (...values: T) => void): (() => void) => {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  };
  tell(...values: T): void {
    for (const listener of this.#all) listener(...values);
  }
}

/** Contracts as the test says. */
export class FakeContracts implements LiveContracts {
  readonly #listeners = new Listeners<[string]>();
  onChange = this.#listeners.on;
  #contracts: LiveContract[] = [];

  set(...contracts: Partial<LiveContract>[]): void {
    this.#contracts = contracts.map((contract) => ({
      id: "c-1",
      consumer: CONSUMER,
      resources: { cpu: "16", memory: "64Gi", pods: 500 },
      enforcement: "None",
      notAfter: Number.POSITIVE_INFINITY,
      takesPods: true,
      drained: false,
      ...contract,
    }));
    this.#listeners.tell(CONSUMER);
  }

  resolve(name: string): LiveContract | undefined {
    return this.#contracts.find(({ id }) => id === name);
  }

  of(consumer: string): readonly LiveContract[] {
    return this.#contracts.filter((contract) => contract.consumer === consumer);
  }
}

/** Shows what the proxy would: of a list or a watch, what has the consumer's label. */
function asShown(kube: KubeClient): KubeClient {
  const own = { labelSelector: `${CONSUMER_LABEL}=${CONSUMER}` };
  const shown: Partial<KubeClient> = {
    list: (kind, options) => kube.list(kind, { ...options, ...own }),
    watch: (kind, options) => kube.watch(kind, { ...options, ...own }),
  };
  return new Proxy(kube, {
    get(target, property) {
      const value = Reflect.get(shown, property) ?? Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The provider as the consumer sees it. */
export class FakeSites implements RemoteSites {
  readonly #listeners = new Listeners<[string]>();
  onChange = this.#listeners.on;
  readonly site: RemoteSite;
  #report: RemoteSite["report"];
  #reachability: Reachability = { reachable: true, since: 0, reason: "Dialled", message: "" };

  constructor(kube: KubeClient) {
    const reachability = () => this.#reachability;
    const report = () => this.#report;
    this.site = {
      id: PROVIDER,
      kube: asShown(kube),
      clockAhead: 0,
      call: () => Promise.reject(new Error("not here")),
      connect: () => Promise.reject(new Error("not here")),
      get reachability() {
        return reachability();
      },
      get report() {
        return report();
      },
      onChange: (listener) => this.#listeners.on(() => listener()),
      refresh: () => {},
    };
  }

  tell(report: RemoteSite["report"]): void {
    this.#report = report;
    this.#listeners.tell(PROVIDER);
  }

  reach(reachable: boolean): void {
    this.#reachability = { ...this.#reachability, reachable };
    this.#listeners.tell(PROVIDER);
  }

  get(id: string): RemoteSite | undefined {
    return id === PROVIDER ? this.site : undefined;
  }

  list(): readonly RemoteSite[] {
    return [this.site];
  }
}

const virtualNode = {
  apiVersion,
  kind: "VirtualNode",
  metadata: { name: NODE },
  spec: { contract: "c-1", unreachableAfter: "2s" },
  status: { address: "10.9.9.9" },
} as VirtualNode;
const known: KnownVirtualNode = { name: NODE, site: PROVIDER, contract: "c-1", object: virtualNode };

export const nodes: VirtualNodes = {
  get: (name) => (name === NODE ? known : undefined),
  list: () => [known],
  at: (site) => (site === PROVIDER ? [known] : []),
  taken: () => [],
  onChange: () => () => {},
};

/** Namespaces other than `shop` have twins too, of a like name. */
export const twins: Twins = {
  twinOf: (_, namespace) => `${namespace}-twin`,
  originOf: (_, twin) => (twin.endsWith("-twin") ? twin.slice(0, -5) : undefined),
  namespacesAt: () => [SHOP],
  sitesOf: () => [PROVIDER],
  onChange: () => () => {},
};

export interface PodBedOptions {
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly simulatedNodes?: number;
  /** Looks at, or changes, the client that a controller is given. */
  readonly wrap?: (which: "offloader" | "guests", client: KubeClient) => void;
}

/** Two sites and the two controllers, each of which can be ended and begun again. */
export async function startPodBed(options: PodBedOptions = {}) {
  const bed = await startTestBed({ sites: 2, simulatedNodes: options.simulatedNodes ?? 2 });
  try {
    return await furnish(bed, options);
  } catch (error) {
    // What is left of it would keep the process from ending.
    await bed.stop();
    throw error;
  }
}

async function furnish(bed: Bed, options: PodBedOptions) {
  const [one, two] = [bed.site("site-1"), bed.site("site-2")];
  const consumer = new KubeClient(one.config);
  const provider = new KubeClient(two.config);
  await Promise.all([consumer, provider].map(installKinds));
  await consumer.create(Node, virtualNodeObject());
  await consumer.create(Lease, nodeLease());
  const beat = setInterval(() => {
    const patch = { spec: nodeLease().spec };
    consumer.patch(Lease, { name: NODE, namespace: LEASES }, "merge", patch).catch(() => {});
  }, 5_000).unref();
  await addNamespace(consumer, provider, SHOP);
  const contracts = new FakeContracts();
  contracts.set({});
  const sites = new FakeSites(new KubeClient(two.config));
  const running = new Map<string, () => Promise<void>>();

  const begin = (which: "offloader" | "guests", clock = options.clock ?? systemClock) => {
    const isConsumer = which === "offloader";
    const config = isConsumer ? one.config : two.config;
    const client = new KubeClient(config, { clock });
    options.wrap?.(which, client);
    const home = homeOf(client, isConsumer ? CONSUMER : PROVIDER, {
      clock,
      logger: options.logger ?? silentLogger,
    });
    const part: PodOffloader | GuestPods = isConsumer
      ? new PodOffloader({ home, nodes, twins, sites })
      : new GuestPods({ home, contracts, givenUpMs: 300, drainGraceMs: 0 });
    running.set(which, runParts(home, part));
    return part;
  };
  const end = async (which: "offloader" | "guests") => {
    await running.get(which)?.();
    running.delete(which);
  };
  return {
    bed,
    consumer,
    provider,
    contracts,
    sites,
    begin,
    end,
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      for (const stop of running.values()) await stop();
      await Promise.all([consumer.close(), provider.close(), sites.site.kube.close()]);
      await bed.stop();
    },
  };
}

export type PodBed = Awaited<ReturnType<typeof startPodBed>>;

export async function addNamespace(consumer: KubeClient, provider: KubeClient, name: string): Promise<void> {
  await consumer.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const labels = { [CONSUMER_LABEL]: CONSUMER, [ORIGIN_NAMESPACE_LABEL]: name };
  await provider.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: `${name}-twin`, labels } });
}

function homeOf(
  client: KubeClient,
  id: string,
  { clock, logger }: { clock: Clock; logger: Logger },
): Home & { readonly recorder: EventRecorder } {
  const means = { clock, random: Math.random, logger };
  return {
    ...means,
    client,
    identity: { id, publicKey: "", sign: () => "" },
    caches: new SharedCaches({ ...means, client }),
    recorder: new EventRecorder({ ...means, client, component: "fjord" }),
    namespace: "fjord-system",
  };
}

function runParts(home: Home & { readonly recorder: EventRecorder }, part: Runnable): () => Promise<void> {
  const stop = new AbortController();
  const manager = new Manager({ ...home, gracePeriodMs: 0 });
  manager.addCache(home.caches).add(home.recorder).add(part);
  const run = manager.run(stop.signal);
  return async () => {
    stop.abort();
    await run;
    await home.client.close();
  };
}

async function installKinds(client: KubeClient): Promise<void> {
  const wanted = ["shadowpods.fjord.dev", "contracts.fjord.dev"];
  const definitions = customResourceDefinitions().filter(({ metadata }) => wanted.includes(metadata.name ?? ""));
  for (const definition of definitions) {
    await client.apply(CustomResourceDefinition, definition, { fieldManager: "fjord-test" });
    const fieldSelector = `metadata.name=${definition.metadata.name}`;
    for await (const { object } of client.watch(CustomResourceDefinition, { fieldSelector })) {
      const conditions = "status" in object ? (object.status?.conditions ?? []) : [];
      if (conditions.some(({ type, status }) => type === "Established" && status === "True")) break;
    }
  }
}

const LEASES = "kube-node-lease";

/** Without it the control plane would take the node for lost. */
function nodeLease(): Lease {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: NODE, namespace: LEASES },
    spec: { holderIdentity: NODE, leaseDurationSeconds: 40, renewTime },
  };
}

/** The Node that the domain of virtual nodes would make, Ready and without its taint. */
function virtualNodeObject(): Node {
  const resources = { cpu: "16", memory: "64Gi", pods: "500" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: NODE },
    status: {
      capacity: resources,
      allocatable: resources,
      conditions: [{ type: "Ready", status: "True", reason: "Test", message: "" }],
    },
  } as Node;
}

export function newPod(name: string, more: Partial<NonNullable<Pod["spec"]>> = {}, namespace = SHOP): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: name } },
    spec: { nodeName: NODE, containers: [{ name: "main", image: "busybox:1" }], ...more },
  };
}

/** Resolves with the first state of the object that `is` says yes to; undefined stands for its absence. */
export async function until<T extends Pod | ShadowPod | Contract | Secret>(
  client: KubeClient,
  kind: { readonly kind: string },
  key: { name: string; namespace: string },
  is: (object: T | undefined) => boolean,
  timeoutMs = 60_000,
): Promise<T | undefined> {
  const signal = AbortSignal.timeout(timeoutMs);
  const typed = kind as unknown as Parameters<typeof client.watch<T>>[0];
  const fieldSelector = `metadata.name=${key.name}`;
  const { items, metadata } = await client.list<T>(typed, { namespace: key.namespace, fieldSelector, signal });
  let last = items[0];
  if (is(last)) return last;
  let { resourceVersion } = metadata;
  try {
    for (;;) {
      const options = { namespace: key.namespace, fieldSelector, signal, ...(resourceVersion && { resourceVersion }) };
      for await (const event of client.watch<T>(typed, options)) {
        if (event.type === "BOOKMARK") continue;
        resourceVersion = event.object.metadata.resourceVersion;
        last = event.type === "DELETED" ? undefined : event.object;
        if (is(last)) return last;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(`${kind.kind} ${key.namespace}/${key.name} did not come to it: ${JSON.stringify(last)}`);
  }
}

export function isReady(pod: Pod | undefined): boolean {
  return pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
