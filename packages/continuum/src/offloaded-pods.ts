import type { Pod } from "@fjord/kube";
import type { KnownVirtualNode } from "./virtual-nodes.ts";

/** An own pod on a virtual node, and where its guest is. */
export interface OffloadedPod {
  readonly pod: Pod;
  readonly node: KnownVirtualNode;
  /** Name of the twin namespace; absent while there is none. */
  readonly twinNamespace?: string;
}

/** The own pods that are bound to virtual nodes. The kubelet API, reflection and statistics look here. */
export interface OffloadedPods {
  get(namespace: string, name: string): OffloadedPod | undefined;
  onNode(node: string): readonly OffloadedPod[];
  inNamespace(namespace: string): readonly OffloadedPod[];
  onChange(listener: (namespace: string, name: string) => void): () => void;
}
