import { Pod, type SharedCache } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { OffloadedPod, OffloadedPods } from "../../offloaded-pods.ts";
import type { Twins } from "../../twins.ts";
import type { KnownVirtualNode, VirtualNodes } from "../../virtual-nodes.ts";

export interface HomePodsOptions {
  readonly home: Pick<Home, "caches">;
  readonly nodes: VirtualNodes;
  readonly twins: Pick<Twins, "twinOf">;
  /** Told when a pod is no longer at home. */
  readonly onGone?: (uid: string) => void;
}

/** A node whose pods are followed, and how that ends. */
interface Followed {
  readonly shared: SharedCache<Pod>;
  readonly removeHandler: () => void;
}

type Listener = (namespace: string, name: string) => void;

/** The own pods on virtual nodes, each node's by a watch of its own, so that the pods of other nodes cost nothing. */
export class HomePods implements OffloadedPods {
  readonly #options: HomePodsOptions;
  readonly #followed = new Map<string, Followed>();
  /** Which node each pod is on, by `namespace/name`; and which pod has a uid. */
  readonly #nodeOf = new Map<string, string>();
  readonly #keyOf = new Map<string, string>();
  readonly #listeners = new Set<Listener>();

  constructor(options: HomePodsOptions) {
    this.#options = options;
  }

  get(namespace: string, name: string): OffloadedPod | undefined {
    const pod = this.pod(namespace, name);
    return pod && this.#offloaded(pod);
  }

  onNode(node: string): readonly OffloadedPod[] {
    return this.podsOn(node).flatMap((pod) => this.#offloaded(pod) ?? []);
  }

  inNamespace(namespace: string): readonly OffloadedPod[] {
    const pods = this.#followed.values().flatMap(({ shared }) => shared.cache.list(namespace));
    return [...pods].flatMap((pod) => this.#offloaded(pod) ?? []);
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The pod itself, also while its virtual node is no longer known. */
  pod(namespace: string, name: string): Pod | undefined {
    const node = this.#nodeOf.get(`${namespace}/${name}`);
    return node === undefined ? undefined : this.#followed.get(node)?.shared.cache.get({ namespace, name });
  }

  podsOn(node: string): Pod[] {
    return this.#followed.get(node)?.shared.cache.list() ?? [];
  }

  /** `namespace/name` of the pod with this uid. */
  keyOf(uid: string): string | undefined {
    return this.#keyOf.get(uid);
  }

  /** Whether the pods of all virtual nodes are known. */
  get hasSynced(): boolean {
    return this.#followed.values().every(({ shared }) => shared.cache.hasSynced);
  }

  /** Follows each virtual node, and those that are gone for as long as pods name them. */
  follow(): void {
    for (const { name } of this.#options.nodes.list()) if (!this.#followed.has(name)) this.#begin(name);
    for (const [name, { shared }] of this.#followed) {
      if (this.#options.nodes.get(name) !== undefined || !shared.cache.hasSynced || shared.cache.size > 0) continue;
      this.#end(name);
    }
  }

  stop(): void {
    for (const name of [...this.#followed.keys()]) this.#end(name);
  }

  #begin(node: string): void {
    const shared = this.#options.home.caches.open(Pod, { fieldSelector: `spec.nodeName=${node}` });
    // Before the handler: what the cache holds already is delivered while it is added.
    this.#followed.set(node, { shared, removeHandler: () => {} });
    const removeHandler = shared.cache.addHandler({
      onAdd: (pod) => this.#changed(pod, node),
      onUpdate: (_, pod) => this.#changed(pod, node),
      onDelete: (pod) => this.#deleted(pod, node),
    });
    this.#followed.set(node, { shared, removeHandler });
  }

  #end(node: string): void {
    const followed = this.#followed.get(node);
    this.#followed.delete(node);
    followed?.removeHandler();
    for (const pod of followed?.shared.cache.list() ?? []) this.#deleted(pod, node);
    followed?.shared[Symbol.dispose]();
  }

  #changed(pod: Pod, node: string): void {
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    const key = `${namespace}/${name}`;
    this.#nodeOf.set(key, node);
    this.#keyOf.set(uid, key);
    this.#tell(namespace, name);
  }

  #deleted(pod: Pod, node: string): void {
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    const key = `${namespace}/${name}`;
    this.#keyOf.delete(uid);
    this.#options.onGone?.(uid);
    // Another pod of the name may be on another node by now.
    if (this.#nodeOf.get(key) === node) this.#nodeOf.delete(key);
    this.#tell(namespace, name);
    if (this.#options.nodes.get(node) === undefined) this.follow();
  }

  #tell(namespace: string, name: string): void {
    for (const listener of [...this.#listeners]) listener(namespace, name);
  }

  #offloaded(pod: Pod): OffloadedPod | undefined {
    const node = this.#options.nodes.get(pod.spec?.nodeName ?? "");
    return node && this.#known(pod, node);
  }

  #known(pod: Pod, node: KnownVirtualNode): OffloadedPod {
    const twinNamespace = this.#options.twins.twinOf(node.site, pod.metadata.namespace ?? "");
    return { pod, node, ...(twinNamespace !== undefined && { twinNamespace }) };
  }
}
