import { sameContent } from "@fjord/kube";
import type { KnownVirtualNode, VirtualNodes } from "../../virtual-nodes.ts";

/**
 * Knows which changes of virtual nodes are any to the pods on them. What is counted there is written to a node every few seconds
 * while pods come and go, and to look at each of thousands for that would take more than all else that is done for them.
 */
export class NodeNews {
  readonly #nodes: Pick<VirtualNodes, "get">;
  readonly #isOver: (node: KnownVirtualNode) => boolean;
  /** By name: what pods were last told of. */
  readonly #told = new Map<string, object>();

  /** `isOver` says whether the contract behind a node has ended. */
  constructor(nodes: Pick<VirtualNodes, "get">, isOver: (node: KnownVirtualNode) => boolean) {
    this.#nodes = nodes;
    this.#isOver = isOver;
  }

  /** Whether the pods of a node are to be looked at since it was last asked about. */
  isForPods(name: string): boolean {
    const node = this.#nodes.get(name);
    const before = this.#told.get(name);
    if (node === undefined) {
      this.#told.delete(name);
      return true;
    }
    const { metadata, spec, status } = node.object;
    const facts = {
      site: node.site,
      spec,
      address: status?.address,
      isEnding: metadata.deletionTimestamp !== undefined,
      isOver: this.#isOver(node),
    };
    this.#told.set(name, facts);
    return !sameContent(facts, before);
  }
}
