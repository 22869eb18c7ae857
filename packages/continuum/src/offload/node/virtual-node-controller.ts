import { Contract, VIRTUAL_NODE, VirtualNode } from "@fjord/api";
import { describeError } from "@fjord/base";
import {
  addFinalizer,
  againAfter,
  type Cache,
  Controller,
  done,
  isBeingDeleted,
  isNotFound,
  Node,
  type ReconcileContext,
  type Request,
  type Result,
  type Runnable,
  removeFinalizer,
  setCondition,
  watches,
} from "@fjord/kube";
import { ApiReviewer, Guard, KubeletServer, type ServingTls, type Summary } from "@fjord/node/kubelet-api";
import type { Home } from "../../home.ts";
import type { RemoteSite, RemoteSites } from "../../peering/remote-site.ts";
import type { OffloadedPods } from "../offloaded-pods.ts";
import type { KnownVirtualNode, VirtualNodes } from "../virtual-nodes.ts";
import { emptyNode } from "./empty-node.ts";
import type { Readiness } from "./forge-node.ts";
import { RemoteBackend } from "./remote-backend.ts";
import { VirtualNodeKeeper } from "./virtual-node-keeper.ts";

export interface VirtualNodeControllerOptions {
  readonly home: Home;
  readonly remotes: RemoteSites;
  readonly nodes: VirtualNodes;
  readonly pods: OffloadedPods;
  /** Where the own API server reaches this process. */
  readonly address: string;
  readonly kubeletVersion: string;
  /** Certificate of the kubelet APIs, and whose clients they believe. */
  readonly tls: (node: string) => Promise<ServingTls>;
  /** Usage of the pods behind a node. */
  readonly summary: (node: KnownVirtualNode, remote: RemoteSite | undefined, signal: AbortSignal) => Promise<Summary>;
}

const FINALIZER = "fjord.dev/virtual-node";
const FIELD_MANAGER = "fjord-offload";

interface Kept {
  readonly keeper: VirtualNodeKeeper;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Brings VirtualNode objects to life, and ends them. One process keeps them all. */
export class VirtualNodeController implements Runnable {
  readonly name = "virtual nodes";
  readonly needsLeaderElection = true;
  readonly #options: VirtualNodeControllerOptions;
  readonly #objects: Cache<VirtualNode>;
  readonly #contracts: Cache<Contract>;
  readonly #controller: Controller;
  readonly #kept = new Map<string, Kept>();
  readonly #readiness = new Map<string, Readiness>();

  constructor(options: VirtualNodeControllerOptions) {
    this.#options = options;
    const { caches, clock, random, logger, metrics } = options.home;
    this.#objects = caches.open(VirtualNode).cache;
    this.#contracts = caches.open(Contract).cache;
    this.#controller = new Controller({
      name: "virtual-nodes",
      sources: [watches(this.#objects)],
      concurrency: 8,
      reconcile: (request, context) => this.#reconcile(request, context),
      clock,
      random,
      logger,
      ...(metrics && { metrics }),
    });
    options.nodes.onChange((name) => {
      this.#controller.enqueue({ name });
      this.#kept.get(name)?.keeper.changed();
    });
  }

  async run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    await this.#controller.run(stop, abandon);
    await Promise.all([...this.#kept.keys()].map((name) => this.#release(name)));
  }

  async #reconcile({ name }: Request, { signal, log }: ReconcileContext): Promise<Result> {
    const { client } = this.#options.home;
    const object = this.#objects.get({ name });
    if (object === undefined) {
      await this.#release(name);
      return done();
    }
    if (isBeingDeleted(object)) {
      if (!(await emptyNode(client, name, signal))) return againAfter(500);
      await this.#release(name);
      await this.#deleteNode(name, signal);
      await removeFinalizer(client, VirtualNode, object, FINALIZER, { signal });
      return done();
    }
    const known = this.#options.nodes.get(name);
    if (known === undefined) return this.#say(object, contractMissing(object), signal);
    await addFinalizer(client, VirtualNode, object, FINALIZER, { signal });
    if (!this.#kept.has(name)) {
      if (await this.#isForeign(name, signal)) return this.#say(object, nameTaken(name), signal);
      await this.#keep(name);
      log.info("a virtual node is kept", { node: name, site: known.site });
    }
    const readiness = this.#readiness.get(name);
    return readiness === undefined ? done() : this.#say(object, readiness, signal);
  }

  async #keep(name: string): Promise<void> {
    const { home, remotes, nodes, pods, address, kubeletVersion, tls, summary } = this.#options;
    const { client, clock, logger } = home;
    const remote = () => {
      const node = nodes.get(name);
      return node && remotes.get(node.site);
    };
    const backend = new RemoteBackend({
      node: name,
      pods,
      remote,
      summary: async (signal) => {
        const node = nodes.get(name);
        if (node === undefined) throw new Error(`there is no virtual node ${name}`);
        return summary(node, remote(), signal);
      },
      now: () => clock.now(),
    });
    const guard = new Guard({ reviewer: new ApiReviewer(client), nodeName: name, clock });
    const server = new KubeletServer({
      backend,
      guard,
      tls: await tls(name),
      host: address,
      port: 0,
      log: logger,
      clock,
    });
    await server.listen();
    const keeper = new VirtualNodeKeeper(name, {
      home,
      remotes,
      node: () => nodes.get(name),
      contract: (contract) => this.#contracts.get({ name: contract }),
      server,
      address,
      kubeletPort: server.address.port,
      kubeletVersion,
      onReadiness: (readiness) => {
        this.#readiness.set(name, readiness);
        this.#controller.enqueue({ name });
      },
    });
    const stop = new AbortController();
    const ended = keeper.run(stop.signal).catch((error: unknown) => {
      logger.error("a virtual node can no longer be kept", { node: name, error: describeError(error) });
      this.#kept.delete(name);
      this.#controller.enqueue({ name }, 5_000);
    });
    this.#kept.set(name, { keeper, stop, ended });
  }

  async #release(name: string): Promise<void> {
    const kept = this.#kept.get(name);
    this.#kept.delete(name);
    this.#readiness.delete(name);
    kept?.stop.abort();
    await kept?.ended;
  }

  async #isForeign(name: string, signal: AbortSignal): Promise<boolean> {
    try {
      const node = await this.#options.home.client.get(Node, { name }, { signal });
      return node.metadata.labels?.[VIRTUAL_NODE] !== "true";
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #deleteNode(name: string, signal: AbortSignal): Promise<void> {
    if (await this.#isForeign(name, signal)) return;
    await this.#options.home.client.delete(Node, { name }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  async #say(object: VirtualNode, readiness: Told, signal: AbortSignal): Promise<Result> {
    const { home, nodes, address } = this.#options;
    const name = object.metadata.name ?? "";
    const provider = nodes.get(name)?.site;
    const { status, reason, message } = readiness;
    const ready = { type: "Ready", status, reason, message, observedGeneration: object.metadata.generation } as const;
    const { conditions, changed } = setCondition(object.status?.conditions, ready, home.clock.now());
    if (!changed && object.status?.provider === provider && object.status?.address === address) return done();
    const said = { conditions, address, ...(provider && { provider }) };
    await home.client.apply(
      VirtualNode,
      { metadata: { name }, status: said },
      { fieldManager: FIELD_MANAGER, subresource: "status", force: true, signal },
    );
    return done();
  }
}

interface Told {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Readiness["reason"] | "NodeNameTaken";
  readonly message: string;
}

function contractMissing(object: VirtualNode): Told {
  return { status: "False", reason: "ContractMissing", message: `there is no contract ${object.spec.contract}` };
}

function nameTaken(name: string): Told {
  return { status: "False", reason: "NodeNameTaken", message: `there is a Node ${name} that is not Fjord's` };
}
