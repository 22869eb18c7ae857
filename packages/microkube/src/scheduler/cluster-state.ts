import type { Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from "@fjord/kube";
import { NodeFacts } from "./node-facts.ts";
import { type PodFacts, podFacts } from "./pod-facts.ts";
import type { Snapshot, Volumes } from "./snapshot.ts";

/** Where other objects are looked up; caches are this. */
export interface Lookups {
  namespace(name: string): Namespace | undefined;
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumes(): Iterable<PersistentVolume>;
  storageClass(name: string): StorageClass | undefined;
}

/** Nodes with their pods, kept by changes one at a time: no decision counts the cluster anew. */
export class ClusterState {
  readonly #nodes = new Map<string, NodeFacts>();
  /** Of pods on nodes that are not known (yet). */
  readonly #stray = new Map<string, Map<string, PodFacts>>();
  readonly #placeOf = new Map<string, string>();
  /** Pods that were given a node which the API has not told of yet. */
  readonly #assumed = new Map<string, string>();
  /** Pods that wait for their victims to go from a node. */
  readonly #nominated = new Map<string, { node: string; pod: PodFacts }>();
  readonly #lookups: Lookups;
  #list: NodeFacts[] | undefined;

  constructor(lookups: Lookups) {
    this.#lookups = lookups;
  }

  get nodeCount(): number {
    return this.#nodes.size;
  }

  setNode(node: Node): void {
    const name = node.metadata.name ?? "";
    const before = this.#nodes.get(name);
    this.#nodes.set(name, new NodeFacts(node, before?.pods ?? this.#stray.get(name)?.values()));
    this.#stray.delete(name);
    this.#list = undefined;
  }

  removeNode(name: string): void {
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    this.#nodes.delete(name);
    this.#stray.set(name, new Map([...node.pods].map((pod) => [pod.uid, pod])));
    this.#list = undefined;
  }

  /** A pod as the API has it: one with a node that has not ended takes room there. */
  setPod(pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    const node = pod.spec?.nodeName ?? "";
    const { phase } = pod.status ?? {};
    if (node === "" && this.#assumed.has(uid)) return;
    this.#assumed.delete(uid);
    this.#remove(uid);
    if (node === "" || phase === "Succeeded" || phase === "Failed") return;
    this.#nominated.delete(uid);
    this.#put(podFacts(pod), node);
  }

  removePod(uid: string): void {
    this.#assumed.delete(uid);
    this.#nominated.delete(uid);
    this.#remove(uid);
  }

  /** Counts the pod on the node before the API tells so. */
  assume(pod: PodFacts, node: string): void {
    this.#assumed.set(pod.uid, node);
    this.#nominated.delete(pod.uid);
    this.#remove(pod.uid);
    this.#put(pod, node);
  }

  /** The node was not to be had after all. */
  forget(uid: string): void {
    if (!this.#assumed.delete(uid)) return;
    this.#remove(uid);
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid);
  }

  nominate(pod: PodFacts, node: string): void {
    this.#nominated.set(pod.uid, { node, pod });
  }

  withdraw(uid: string): void {
    this.#nominated.delete(uid);
  }

  nominationOf(uid: string): string | undefined {
    return this.#nominated.get(uid)?.node;
  }

  /** As it matters to one pod: those that were promised room before it, and matter as much, count as there. */
  snapshot(pod: PodFacts): Snapshot {
    const lookups = this.#lookups;
    const volumes: Volumes = lookups;
    return {
      nodes: this.#withNominated(pod),
      namespaceLabels: (namespace) => lookups.namespace(namespace)?.metadata.labels ?? {},
      volumes,
    };
  }

  #withNominated(pod: PodFacts): readonly NodeFacts[] {
    this.#list ??= [...this.#nodes.values()];
    const others = this.#nominated
      .values()
      .filter(({ pod: other }) => other.uid !== pod.uid && other.priority >= pod.priority);
    const changed = new Map<string, NodeFacts>();
    for (const { node, pod: other } of others) {
      const facts = changed.get(node) ?? this.#nodes.get(node)?.copy();
      if (facts === undefined) continue;
      facts.add(other);
      changed.set(node, facts);
    }
    return changed.size === 0 ? this.#list : this.#list.map((node) => changed.get(node.name) ?? node);
  }

  #put(pod: PodFacts, node: string): void {
    this.#placeOf.set(pod.uid, node);
    const facts = this.#nodes.get(node);
    if (facts !== undefined) {
      facts.add(pod);
      return;
    }
    const stray = this.#stray.get(node) ?? new Map();
    this.#stray.set(node, stray.set(pod.uid, pod));
  }

  #remove(uid: string): void {
    const node = this.#placeOf.get(uid);
    if (node === undefined) return;
    this.#placeOf.delete(uid);
    this.#nodes.get(node)?.remove(uid);
    const stray = this.#stray.get(node);
    if (stray?.delete(uid) && stray.size === 0) this.#stray.delete(node);
  }
}
