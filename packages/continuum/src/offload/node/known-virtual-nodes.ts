import { Contract, VirtualNode } from "@fjord/api";
import { type Cache, getCondition, hasFinalizer, type SharedCaches } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import type { KnownVirtualNode, VirtualNodes } from "../../virtual-nodes.ts";

/** What a VirtualNode has from before its Node is made, and not where a Node of its name is somebody else's. */
export const NODE_FINALIZER = "fjord.dev/virtual-node";

/** Why a VirtualNode is not ready whose Node somebody else has. */
export const NODE_NAME_TAKEN = "NodeNameTaken";

/** The own site's virtual nodes, as its VirtualNode and Contract objects say: those whose Node is theirs. */
export class KnownVirtualNodes implements VirtualNodes {
  readonly #nodes: Cache<VirtualNode>;
  readonly #contracts: Cache<Contract>;
  readonly #listeners = new Set<(name: string) => void>();

  constructor(caches: SharedCaches) {
    this.#nodes = caches.open(VirtualNode).cache;
    this.#contracts = caches.open(Contract).cache;
    this.#nodes.addIndex("contract", ({ spec }) => [spec.contract]);
    const tell = ({ metadata }: VirtualNode) => this.#tell(metadata.name ?? "");
    this.#nodes.addHandler({ onAdd: tell, onUpdate: (_, node) => tell(node), onDelete: tell });
    // A node whose contract comes after it.
    const ofContract = ({ metadata }: Contract) => {
      for (const node of this.#nodes.byIndex("contract", metadata.name ?? "")) tell(node);
    };
    this.#contracts.addHandler({
      onAdd: ofContract,
      onUpdate: (_, contract) => ofContract(contract),
      onDelete: ofContract,
    });
  }

  get(name: string): KnownVirtualNode | undefined {
    const object = this.#nodes.get({ name });
    return object && hasFinalizer(object, NODE_FINALIZER) ? this.#known(object) : undefined;
  }

  /** Also one that has no Node: of its name somebody else's may be, whose pods are none of its own. */
  wished(name: string): KnownVirtualNode | undefined {
    const object = this.#nodes.get({ name });
    return object && this.#known(object);
  }

  list(): readonly KnownVirtualNode[] {
    return this.#nodes.list().flatMap(({ metadata }) => this.get(metadata.name ?? "") ?? []);
  }

  at(site: SiteId): readonly KnownVirtualNode[] {
    return this.list().filter((node) => node.site === site);
  }

  taken(): readonly KnownVirtualNode[] {
    const isTaken = (object: VirtualNode) =>
      !hasFinalizer(object, NODE_FINALIZER) &&
      getCondition(object.status?.conditions, "Ready")?.reason === NODE_NAME_TAKEN;
    return this.#nodes
      .list()
      .filter(isTaken)
      .flatMap((object) => this.#known(object) ?? []);
  }

  onChange(listener: (name: string) => void): () => void {
    const own = (name: string) => listener(name);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  #known(object: VirtualNode): KnownVirtualNode | undefined {
    const { contract } = object.spec;
    // The status remembers whose node it is when a contract is gone before the node.
    const site = this.#contracts.get({ name: contract })?.spec.terms.provider ?? object.status?.provider;
    return site === undefined ? undefined : { name: object.metadata.name ?? "", site, contract, object };
  }

  #tell(name: string): void {
    for (const listener of this.#listeners) listener(name);
  }
}
