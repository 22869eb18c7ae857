import { CONSUMER_LABEL, Contract, VirtualNode } from "@fjord/api";
import { CoreEvent, getCondition, ifNotFound, type KubeClient, Node, Pod } from "@fjord/kube";
import { timeOf } from "../explain/pod-facts.ts";
import { hasItsNode } from "../place/known-places.ts";
import { type DrainedNode, type DrainFacts, nodesOf, standingOf } from "./drain-progress.ts";

/** The agent repeats what it is refused; after 25 times it is written once in five minutes only. */
const REFUSAL_LASTS_MS = 360_000;

/** What there is of a contract, wherever this site is in it. */
export async function drainFacts(
  client: KubeClient,
  name: string,
  now: number,
  signal: AbortSignal,
): Promise<DrainFacts> {
  const [{ items: contracts }, { items: virtualNodes }] = await Promise.all([
    client.list(Contract, { signal }),
    client.list(VirtualNode, { signal }),
  ]);
  const agreed = standingOf(name, contracts);
  const own = agreed?.status?.side === "Provider" ? [] : nodesOf(name, virtualNodes.filter(hasItsNode));
  const since = drainedSince(agreed);
  const labelSelector = `${CONSUMER_LABEL}=${agreed?.spec.terms.consumer}`;
  const [nodes, guests] = await Promise.all([
    Promise.all(own.map((virtual) => drainedNode(client, virtual, Math.max(since, now - REFUSAL_LASTS_MS), signal))),
    agreed?.status?.side === "Provider" ? client.list(Pod, { labelSelector, signal }) : { items: [] },
  ]);
  return { contract: name, contracts, nodes, guests: guests.items };
}

/** What was refused in an earlier drain is none of this one's trouble. */
function drainedSince(contract: Contract | undefined): number {
  const active = getCondition(contract?.status?.conditions, "Active");
  return active?.status === "False" ? Date.parse(String(active.lastTransitionTime ?? "")) || 0 : 0;
}

async function drainedNode(
  client: KubeClient,
  virtual: VirtualNode,
  since: number,
  signal: AbortSignal,
): Promise<DrainedNode> {
  const name = virtual.metadata.name ?? "";
  const [node, pods, events] = await Promise.all([
    client.get(Node, { name }, { signal }).catch(ifNotFound),
    client.list(Pod, { fieldSelector: `spec.nodeName=${name}`, signal }),
    client.list(CoreEvent, { fieldSelector: `involvedObject.kind=Node,involvedObject.name=${name}`, signal }),
  ]);
  const refusal = events.items
    .filter((event) => event.reason === "EvictionRefused" && timeOf(event) >= since)
    .sort((a, b) => timeOf(b) - timeOf(a))[0]?.message;
  return {
    virtual,
    ...(node !== undefined && { node }),
    pods: pods.items,
    ...(refusal !== undefined && pods.items.some(isWaiting) && { refusal }),
  };
}

function isWaiting({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp === undefined;
}
