import { VirtualNode } from "@fjord/api";
import type { EventSink } from "@fjord/kube";
import { type KubeClient, sameContent, setCondition } from "@fjord/kube";
import { allocatedBy } from "./allocated.ts";
import type { Readiness } from "./readiness.ts";

const FIELD_MANAGER = "fjord-offload";

/** What is said of a VirtualNode's readiness. */
export type Told = Omit<Readiness, "reason"> & { readonly reason: Readiness["reason"] | "NodeNameTaken" };

export interface VirtualNodeFacts {
  readonly ready: Told;
  readonly address: string;
  readonly provider?: string | undefined;
  readonly allocated?: Record<string, string> | undefined;
}

/** Writes the status where it is another one. Gives the object as it then is. */
export async function writeStatus(
  client: KubeClient,
  object: VirtualNode,
  { ready, address, provider, allocated }: VirtualNodeFacts,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  const { generation = 0, name = "" } = object.metadata;
  const { event: _, ...said } = ready;
  const wanted = { type: "Ready", ...said, observedGeneration: generation } as const;
  const { conditions, changed } = setCondition(object.status?.conditions, wanted, now);
  const status = {
    conditions,
    address,
    ...(provider !== undefined && { provider }),
    allocated: allocated ?? object.status?.allocated ?? allocatedBy([]),
  };
  if (!changed && sameContent(status, object.status)) return;
  const options = { fieldManager: FIELD_MANAGER, subresource: "status", force: true, signal };
  await client.apply(VirtualNode, { metadata: { name }, status }, options);
}

/** Tells on the Node, where `kubectl describe node` shows it, what became of the provider. */
export function tellReadiness(events: EventSink, node: string, { status, reason, message, event }: Told): void {
  const type = status === "True" ? "Normal" : "Warning";
  events.event(nodeReference(node), { type, reason, message: event ?? message });
}

/** Events of nodes are found by the name in place of the uid. */
export function nodeReference(name: string) {
  return { apiVersion: "v1", kind: "Node", metadata: { name, uid: name } };
}
