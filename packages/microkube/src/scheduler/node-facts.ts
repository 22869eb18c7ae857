import { amountsOf, type Node } from "@fjord/kube";
import { type Amounts, type PodFacts, plainAmounts } from "./pod-facts.ts";

/** A node with the pods on it, those among them that are only about to be bound. */
export class NodeFacts {
  readonly name: string;
  readonly node: Node;
  readonly labels: Readonly<Record<string, string>>;
  readonly allocatable: Amounts;
  /** Sizes in bytes by every name that an image has. */
  readonly images: ReadonlyMap<string, number>;
  readonly #pods = new Map<string, PodFacts>();
  readonly #requested = new Map<string, number>();
  readonly #likely = { cpu: 0, memory: 0 };
  readonly #wishes = new Set<PodFacts>();

  constructor(node: Node, pods: Iterable<PodFacts> = []) {
    this.name = node.metadata.name ?? "";
    this.node = node;
    this.labels = node.metadata.labels ?? {};
    this.allocatable = plainAmounts(amountsOf(node.status?.allocatable ?? {}));
    const images = node.status?.images ?? [];
    this.images = new Map(images.flatMap(({ names = [], sizeBytes = 0 }) => names.map((name) => [name, sizeBytes])));
    for (const pod of pods) this.add(pod);
  }

  get pods(): Iterable<PodFacts> {
    return this.#pods.values();
  }

  /** Those of its pods that say something about pods beside them: few, where there are many. */
  get podsWithAffinity(): Iterable<PodFacts> {
    return this.#wishes;
  }

  get podCount(): number {
    return this.#pods.size;
  }

  requested(resource: string): number {
    return this.#requested.get(resource) ?? 0;
  }

  get likely(): { readonly cpu: number; readonly memory: number } {
    return this.#likely;
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  add(pod: PodFacts): void {
    this.remove(pod.uid);
    this.#pods.set(pod.uid, pod);
    if (pod.hasAffinity) this.#wishes.add(pod);
    this.#count(pod, 1);
  }

  remove(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.#pods.delete(uid);
    this.#wishes.delete(pod);
    this.#count(pod, -1);
  }

  /** The same node with the same pods, to try something on. */
  copy(): NodeFacts {
    return new NodeFacts(this.node, this.pods);
  }

  #count(pod: PodFacts, sign: 1 | -1): void {
    for (const [name, amount] of pod.requests) this.#requested.set(name, this.requested(name) + sign * amount);
    this.#likely.cpu += sign * pod.likely.cpu;
    this.#likely.memory += sign * pod.likely.memory;
  }
}
