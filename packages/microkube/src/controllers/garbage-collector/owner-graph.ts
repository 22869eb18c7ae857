import type { Kind, KubeObject, OwnerReference } from "@fjord/base";

export const FOREGROUND = "foregroundDeletion";
export const ORPHAN = "orphan";

/** What the collector knows of an object: who it is, and whom it belongs to. */
export interface GraphNode {
  readonly uid: string;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly resourceVersion: string;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
}

const NONE: readonly never[] = [];

export function nodeOf(kind: Kind, { metadata }: KubeObject): GraphNode {
  return {
    uid: metadata.uid ?? "",
    kind,
    namespace: metadata.namespace,
    name: metadata.name ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    owners: metadata.ownerReferences ?? NONE,
    finalizers: metadata.finalizers ?? NONE,
    deleting: metadata.deletionTimestamp !== undefined,
  };
}

/** It goes only after those of its dependents that block it. */
export function waitsForDependents({ deleting, finalizers }: GraphNode): boolean {
  return deleting && finalizers.includes(FOREGROUND);
}

/** It goes only after its dependents have forgotten it. */
export function leavesOrphans({ deleting, finalizers }: GraphNode): boolean {
  return deleting && finalizers.includes(ORPHAN);
}

/** All objects and who belongs to whom. Each change names the objects that have to be looked at because of it. */
export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #dependents = new Map<string, Set<string>>();

  get size(): number {
    return this.#nodes.size;
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  dependentsOf(uid: string): GraphNode[] {
    const found: GraphNode[] = [];
    for (const dependent of this.#dependents.get(uid) ?? NONE) {
      const node = this.#nodes.get(dependent);
      if (node !== undefined) found.push(node);
    }
    return found;
  }

  /** An object as it is now. */
  put(node: GraphNode): string[] {
    const old = this.#nodes.get(node.uid);
    this.#nodes.set(node.uid, node);
    const affected: string[] = [];
    if (old === undefined || old.owners !== node.owners) this.#relink(node, old, affected);
    if (waitsForDependents(node) && !(old && waitsForDependents(old))) {
      affected.push(node.uid, ...(this.#dependents.get(node.uid) ?? NONE));
    }
    if (leavesOrphans(node) && !(old && leavesOrphans(old))) affected.push(node.uid);
    return affected;
  }

  /** An object that is gone: what belonged to it may go too, and an owner that waited for it may go on. */
  remove(uid: string): string[] {
    const node = this.#nodes.get(uid);
    if (node === undefined) return [];
    this.#nodes.delete(uid);
    for (const owner of node.owners) this.#unlink(owner.uid, uid);
    return [...(this.#dependents.get(uid) ?? NONE), ...this.#waiting(node.owners)];
  }

  #relink(node: GraphNode, old: GraphNode | undefined, affected: string[]): void {
    const before = new Set(old?.owners.map(({ uid }) => uid));
    for (const { uid } of node.owners) {
      if (before.delete(uid)) continue;
      const dependents = this.#dependents.get(uid);
      if (dependents === undefined) this.#dependents.set(uid, new Set([node.uid]));
      else dependents.add(node.uid);
      // Nobody knows the owner, or it is just going: whoever belongs to it may have to go too.
      const owner = this.#nodes.get(uid);
      if (owner === undefined || waitsForDependents(owner)) affected.push(node.uid);
    }
    for (const uid of before) this.#unlink(uid, node.uid);
    if (old !== undefined) affected.push(...this.#waiting([...old.owners, ...node.owners]));
  }

  #waiting(owners: readonly OwnerReference[]): string[] {
    return owners
      .map(({ uid }) => this.#nodes.get(uid))
      .filter((owner) => owner !== undefined && waitsForDependents(owner))
      .map((owner) => owner?.uid ?? "");
  }

  #unlink(owner: string, dependent: string): void {
    const dependents = this.#dependents.get(owner);
    dependents?.delete(dependent);
    if (dependents?.size === 0) this.#dependents.delete(owner);
  }
}
