import { Contract, Site, VIRTUAL_NODE, VirtualNode } from "@fjord/api";
import { describeError } from "@fjord/base";
import {
  addFinalizer,
  againAfter,
  type Cache,
  type Controller,
  done,
  getCondition,
  hasFinalizer,
  ifNotFound,
  isBeingDeleted,
  isNotFound,
  Node,
  type ReconcileContext,
  type Request,
  type Result,
  type Runnable,
  removeFinalizer,
  watches,
} from "@fjord/kube";
import type { Summary } from "@fjord/node/kubelet-api";
import { NodeNameTaken } from "@fjord/node/registration";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import type { OffloadedPods } from "../../offloaded-pods.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { KnownVirtualNode } from "../../virtual-nodes.ts";
import { AllocatedAmounts } from "./allocated.ts";
import { isEndedForGood, newestOf } from "./contract-line.ts";
import { endPodsOfNoContract, evictPods, refusedEvictions } from "./evictions.ts";
import { isVirtual } from "./forge-node.ts";
import { type KnownVirtualNodes, NODE_FINALIZER, NODE_NAME_TAKEN } from "./known-virtual-nodes.ts";
import { startKubeletServer } from "./kubelet-of-node.ts";
import { NodeCertificates } from "./node-certificates.ts";
import { cordonOf, nodePatch } from "./node-changes.ts";
import { ReadinessNews } from "./readiness-news.ts";
import { closeNode, endPods, isForced, isLate, removeNode } from "./virtual-node-end.ts";
import { VirtualNodeKeeper } from "./virtual-node-keeper.ts";
import { nodeReference, type Told, tellReadiness, writeStatus } from "./virtual-node-status.ts";

export interface VirtualNodeControllerOptions {
  readonly home: Home;
  readonly remotes: RemoteSites;
  readonly nodes: KnownVirtualNodes;
  readonly pods: OffloadedPods;
  /** Where the own API server reaches this process. */
  readonly address: string;
  readonly kubeletVersion: string;
  /** PEM of the authority whose client certificates the kubelet APIs believe: the API server's among them. */
  readonly clientCa?: string;
  /** Usage of the pods behind a node. */
  readonly summary: (node: KnownVirtualNode, remote: RemoteSite | undefined, signal: AbortSignal) => Promise<Summary>;
}

const FOREIGN_AGAIN_MS = 5_000;
/** How often a pod that its disruption budget keeps is tried again, as `kubectl drain` does. */
const REFUSED_AGAIN_MS = 5_000;
const ENDING_AGAIN_MS = 1_000;
const GONE_AGAIN_MS = 100;

interface Kept {
  readonly keeper: VirtualNodeKeeper;
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
}

/** Brings VirtualNode objects to life, and ends them. One process keeps them all. */
export class VirtualNodeController implements Runnable {
  readonly name = "virtual nodes";
  readonly needsLeaderElection = true;
  readonly #options: VirtualNodeControllerOptions;
  readonly #objects: Cache<VirtualNode>;
  readonly #contracts: Cache<Contract>;
  readonly #sites: Cache<Site>;
  readonly #nodes: Cache<Node>;
  readonly #certificates: NodeCertificates;
  readonly #allocated: AllocatedAmounts;
  readonly #controller: Controller;
  readonly #kept = new Map<string, Kept>();
  readonly #news = new ReadinessNews();

  constructor(options: VirtualNodeControllerOptions) {
    this.#options = options;
    const { home, address, pods, nodes } = options;
    const { caches, clock } = home;
    this.#objects = caches.open(VirtualNode).cache;
    this.#contracts = caches.open(Contract).cache;
    this.#sites = caches.open(Site).cache;
    this.#nodes = caches.open(Node, { labelSelector: `${VIRTUAL_NODE}=true` }).cache;
    this.#certificates = new NodeCertificates({ home, address });
    this.#controller = homeController(home, {
      name: "virtual-nodes",
      sources: [watches(this.#objects), watches(this.#nodes)],
      concurrency: 8,
      backoff: { initial: 50, max: 5_000 },
      reconcile: (request, context) => this.#reconcile(request, context),
    });
    this.#allocated = new AllocatedAmounts({
      pods,
      clock,
      nodes: () => [...this.#kept.keys()],
      onChange: (name) => this.#controller.enqueue({ name }),
    });
    const keeperOf = ({ metadata }: Node) => this.#kept.get(metadata.name ?? "")?.keeper;
    this.#nodes.addHandler({
      onAdd: (node) => keeperOf(node)?.nodeSeen(node),
      onUpdate: (_, node) => keeperOf(node)?.nodeSeen(node),
      onDelete: (node) => keeperOf(node)?.nodeGone(),
    });
    nodes.onChange((name) => {
      this.#controller.enqueue({ name });
      this.#kept.get(name)?.keeper.changed();
    });
  }

  async run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    const allocated = this.#allocated.run(stop);
    await this.#controller.run(stop, abandon);
    await Promise.all([allocated, ...[...this.#kept.keys()].map((name) => this.#release(name))]);
  }

  async #reconcile({ name }: Request, { signal, log }: ReconcileContext): Promise<Result> {
    const object = this.#objects.get({ name });
    if (object === undefined) {
      await this.#release(name);
      return done();
    }
    if (isBeingDeleted(object)) {
      // An end may take long, and whether the provider answers is what it often waits for.
      const readiness = this.#kept.get(name)?.keeper.readiness;
      if (readiness !== undefined) await this.#say(object, readiness, signal);
      return this.#end(object, signal);
    }
    const known = this.#options.nodes.wished(name);
    if (known === undefined) return this.#say(object, contractMissing(object), signal);
    const { client } = this.#options.home;
    const isKept = this.#kept.has(name);
    const node = isKept ? undefined : await this.#find(name, signal);
    if (node !== undefined && !isVirtual(node)) {
      // Each time: one that was being stored while the keeper ended may come late.
      await this.#certificates.forget(name, signal);
      await removeFinalizer(client, VirtualNode, object, NODE_FINALIZER, { signal });
      await this.#say(object, nameTaken(name), signal);
      return againAfter(FOREIGN_AGAIN_MS);
    }
    // Also of one that is kept: where somebody has cleared it, nobody would follow the pods there any more.
    await addFinalizer(client, VirtualNode, object, NODE_FINALIZER, { signal });
    if (!isKept) {
      await this.#keep(name, node, signal);
      log.info("a virtual node is kept", { node: name, site: known.site });
    }
    await this.#align(name, signal);
    const readiness = this.#kept.get(name)?.keeper.readiness;
    if (readiness !== undefined) await this.#say(object, readiness, signal);
    return this.#drain(known, signal);
  }

  async #keep(name: string, node: Node | undefined, signal: AbortSignal): Promise<void> {
    const { home, remotes, nodes, address, kubeletVersion } = this.#options;
    const { server, useCertificate } = await startKubeletServer({
      ...this.#options,
      node: name,
      port: node?.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0,
      certificate: await this.#certificates.load(name, signal),
    });
    const keeper = new VirtualNodeKeeper(name, {
      home,
      remotes,
      known: () => nodes.wished(name),
      contract: (contract) => newestOf(contract, (each) => this.#contracts.get({ name: each })),
      published: (site) => this.#sites.list().find(({ status }) => status?.id === site)?.status?.published,
      node: () => this.#nodes.get({ name }),
      server,
      address,
      kubeletVersion,
      onChange: () => this.#controller.enqueue({ name }),
    });
    const stop = new AbortController();
    const running = keeper.run(stop.signal).catch((error: unknown) => {
      home.logger.error("a virtual node can no longer be kept", { node: name, error: describeError(error) });
      stop.abort();
      this.#kept.delete(name);
      // Until it is said whose the Node is, a machine's pods count as the provider's.
      this.#controller.enqueue({ name }, error instanceof NodeNameTaken ? 0 : FOREIGN_AGAIN_MS);
    });
    const certified = this.#certificates.keep(name, useCertificate, stop.signal);
    this.#kept.set(name, { keeper, stop, ended: Promise.all([running, certified]) });
  }

  /** Gives the Node the labels, the taints and the cordon that it is to have. */
  async #align(name: string, signal: AbortSignal): Promise<void> {
    const node = this.#nodes.get({ name });
    const wanted = this.#kept.get(name)?.keeper.wanted;
    const patch = node && wanted && nodePatch(node, wanted);
    if (patch === undefined) return;
    await this.#options.home.client.patch(Node, { name }, "merge", patch, { signal }).catch((error: unknown) => {
      // It is made again, with all of that.
      if (!isNotFound(error)) throw error;
    });
  }

  /** Evicts the pods where either owner wants the contract drained, and ends those of one that is over for good. */
  async #drain({ name, contract }: KnownVirtualNode, signal: AbortSignal): Promise<Result> {
    const { home, pods } = this.#options;
    const agreed = newestOf(contract, (each) => this.#contracts.get({ name: each }));
    const isOver = isEndedForGood(agreed);
    if (!isOver && cordonOf(agreed, false) !== "ContractDrained") return done();
    const here = pods.onNode(name).map(({ pod }) => pod);
    if (isOver) {
      // The provider has ended their guests: whoever keeps them is not to wait until a lost node's pods are given up.
      const left = await endPodsOfNoContract(home.client, here, signal);
      return left > 0 ? againAfter(ENDING_AGAIN_MS) : done();
    }
    const { left, refused } = await evictPods(home.client, here, signal);
    if (refused.length > 0) {
      const message = refusedEvictions(refused);
      home.recorder.event(nodeReference(name), { type: "Warning", reason: "EvictionRefused", message });
    }
    // Pods that come late, and those that a budget keeps.
    return left > 0 ? againAfter(REFUSED_AGAIN_MS) : done();
  }

  async #end(object: VirtualNode, signal: AbortSignal): Promise<Result> {
    const { client } = this.#options.home;
    const name = object.metadata.name ?? "";
    if (!hasFinalizer(object, NODE_FINALIZER)) return done();
    const node = await this.#find(name, signal);
    // A Node that was never ours keeps its pods.
    const isForeignNode = node !== undefined && !isVirtual(node);
    if (node !== undefined && !isForeignNode) await closeNode(client, node, signal);
    if (!isForeignNode) {
      const waited = this.#options.pods.onNode(name).filter(({ pod }) => !isLate(pod, object));
      if (!isForced(object) && waited.some(isEnding)) return againAfter(ENDING_AGAIN_MS);
      if (!(await endPods(client, object, node !== undefined, signal))) return againAfter(ENDING_AGAIN_MS);
    }
    await this.#release(name);
    if (node !== undefined && !isForeignNode) {
      await removeNode(client, node, signal);
      // What came until then would wait on a node that is gone for as long as Kubernetes takes to notice. No more comes now.
      if (!(await endPods(client, object, false, signal))) return againAfter(GONE_AGAIN_MS);
    }
    await this.#certificates.forget(name, signal);
    await removeFinalizer(client, VirtualNode, object, NODE_FINALIZER, { signal });
    return done();
  }

  async #release(name: string): Promise<void> {
    const kept = this.#kept.get(name);
    this.#kept.delete(name);
    this.#news.forget(name);
    kept?.stop.abort();
    await kept?.ended;
  }

  async #find(name: string, signal: AbortSignal): Promise<Node | undefined> {
    return await this.#options.home.client.get(Node, { name }, { signal }).catch(ifNotFound);
  }

  async #say(object: VirtualNode, ready: Told, signal: AbortSignal): Promise<Result> {
    const { home, nodes, address } = this.#options;
    const name = object.metadata.name ?? "";
    this.#tell(object, ready);
    const facts = { ready, address, provider: nodes.wished(name)?.site, allocated: this.#allocated.of(name) };
    await writeStatus(home.client, object, facts, home.clock.now(), signal);
    return done();
  }

  #tell(object: VirtualNode, ready: Told): void {
    const { clock, recorder } = this.#options.home;
    const name = object.metadata.name ?? "";
    const before = getCondition(object.status?.conditions, "Ready");
    const { tell, againInMs } = this.#news.next(name, ready, before, clock.now());
    if (tell) tellReadiness(recorder, name, ready);
    if (againInMs !== undefined) this.#controller.enqueue({ name }, againInMs);
  }
}

function isEnding({ pod }: { pod: { metadata: { deletionTimestamp?: string } } }): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

function contractMissing({ spec }: VirtualNode): Told {
  return { status: "False", reason: "ContractMissing", message: `there is no contract ${spec.contract}` };
}

function nameTaken(name: string): Told {
  return { status: "False", reason: NODE_NAME_TAKEN, message: `there is a Node ${name} that is not Fjord's` };
}
