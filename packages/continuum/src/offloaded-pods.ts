import type { Pod } from "@fjord/kube";
import type { KnownVirtualNode } from "./virtual-nodes.ts";

/** Why a pod elsewhere is not ready that would be if it could be reached. */
export const LINK_SILENT = "LinkSilent";

/** Whether a pod is ready, or would be but for the way to it. */
export function isReadyApart({ status }: Pod): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" || ready?.reason === LINK_SILENT;
}

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
  /**
   * Whether what its provider has under its name is the guest of an earlier pod, which has yet to end. Where that is not known here
   * the provider is asked, and what is thrown is its refusal, or its silence.
   * @default it is its own
   */
  isPreceded?(pod: OffloadedPod, signal: AbortSignal): Promise<boolean>;
}
