import { type Node, sameContent } from "@fjord/kube";
import type { NodeFacts, NodeIdentity, NodeStatus } from "./node-facts.ts";

/** Where a node notes which machine it is. */
export const MACHINE_ANNOTATION = "fjord.dev/machine";

/** Where a node whose pods are processes of the machine says which addresses on loopback they have. */
export const LOOPBACK_RANGE_ANNOTATION = "fjord.dev/loopback-range";

/** Where such a node says which addresses beside them are free to stand in for pods of other sites. */
export const STAND_IN_RANGE_ANNOTATION = "fjord.dev/stand-in-range";

/** A Node object to create, with its first status. */
export function forgeNode(identity: NodeIdentity, facts: NodeFacts, now: number): Node {
  const { taints, unschedulable, providerID } = identity;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: identity.name, labels: { ...identity.labels }, annotations: annotationsOf(identity) },
    spec: {
      ...(taints !== undefined && taints.length > 0 && { taints: [...taints] }),
      ...(unschedulable && { unschedulable }),
      ...(providerID !== undefined && { providerID }),
    },
    status: forgeStatus(facts, undefined, now),
  };
}

/** What of a Node is to be otherwise. */
export interface NodePatch {
  readonly metadata?: object;
  readonly status?: object;
}

/** What of labels and annotations an existing Node lacks, as a merge patch; undefined where it has all. */
export function metadataPatch(identity: NodeIdentity, node: Node): NodePatch | undefined {
  const labels = missing(identity.labels, node.metadata.labels);
  const annotations = missing(annotationsOf(identity), node.metadata.annotations);
  if (labels === undefined && annotations === undefined) return undefined;
  return { metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } };
}

/** The whole status that a node has by its facts. Transition times are kept from `known` where nothing has changed. */
export function forgeStatus(facts: NodeFacts, known: NodeStatus | undefined, now: number): NodeStatus {
  const time = timeOf(now);
  const conditions = facts.conditions.map(({ type, status, reason, message }) => {
    const before = known?.conditions?.find((each) => each.type === type);
    const since = before?.status === status ? before.lastTransitionTime : undefined;
    return { type, status, reason, message, lastHeartbeatTime: time, lastTransitionTime: since ?? time };
  });
  const others = foreignResources(facts, known);
  return {
    addresses: facts.addresses,
    capacity: { ...facts.capacity },
    allocatable: { ...facts.allocatable, ...others },
    conditions,
    nodeInfo: facts.nodeInfo,
    ...(facts.kubeletPort !== undefined && { daemonEndpoints: { kubeletEndpoint: { Port: facts.kubeletPort } } }),
    ...(facts.images !== undefined && { images: facts.images }),
    ...(facts.runtimeHandlers !== undefined && { runtimeHandlers: facts.runtimeHandlers }),
    ...(facts.features !== undefined && { features: facts.features }),
    ...(facts.declaredFeatures !== undefined && { declaredFeatures: [...facts.declaredFeatures].sort() }),
    ...(facts.volumesInUse !== undefined && { volumesInUse: [...facts.volumesInUse] }),
  };
}

/** What was written last, and what the API made of it: it writes some amounts in other words. */
export interface SaidStatus {
  readonly sent: NodeStatus;
  readonly got: NodeStatus | undefined;
}

/**
 * The change from one status to another, as a strategic merge patch; undefined where there is none but in heartbeats.
 * Conditions merge by type, so that those which others maintain stay; addresses do not, since a type may come twice.
 */
export function statusPatch(
  known: NodeStatus | undefined,
  status: NodeStatus,
  said?: SaidStatus,
): NodePatch | undefined {
  const changed = Object.entries(status).filter(([name, value]) => {
    const field = name as keyof NodeStatus;
    const before = known?.[field];
    if (said && sameContent(said.sent[field], value) && sameContent(said.got?.[field], before)) return false;
    return field === "conditions"
      ? !sameConditions(before as NodeStatus["conditions"], status.conditions)
      : !covers(before, value);
  });
  if (changed.length === 0) return undefined;
  const patch = Object.fromEntries(changed.map(([field, value]) => [field, replaced(field, value)]));
  // Whoever watches a condition expects all of them to be of the same moment.
  return { status: { ...patch, conditions: status.conditions } };
}

/** Nothing but the times of the conditions. */
export function heartbeatPatch(status: NodeStatus): NodePatch {
  return { status: { conditions: status.conditions } };
}

/** Extended resources that someone else has put into the capacity are allocatable too, as the kubelet has it. */
function foreignResources(facts: NodeFacts, known: NodeStatus | undefined): Record<string, string> {
  const foreign = Object.entries(known?.capacity ?? {}).filter(
    ([name]) => name.includes("/") && facts.capacity[name] === undefined,
  );
  return Object.fromEntries(foreign.map(([name, amount]) => [name, String(amount)]));
}

/** Maps may hold what others put there; lists and values have to be the same. */
function covers(before: unknown, value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return sameContent(before, value);
  if (typeof before !== "object" || before === null) return false;
  const known = before as Record<string, unknown>;
  return Object.entries(value).every(([name, each]) => sameContent(known[name], each));
}

function replaced(field: string, value: unknown): unknown {
  return field === "addresses" ? [{ $patch: "replace" }, ...(value as unknown[])] : value;
}

function sameConditions(before: NodeStatus["conditions"], after: NodeStatus["conditions"]): boolean {
  return (after ?? []).every(({ type, status, reason, message }) => {
    const known = before?.find((each) => each.type === type);
    return known?.status === status && known.reason === reason && known.message === message;
  });
}

function missing(
  wanted: Readonly<Record<string, string>>,
  present: Readonly<Record<string, string>> = {},
): Record<string, string> | undefined {
  const entries = Object.entries(wanted).filter(([name, value]) => present[name] !== value);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function annotationsOf(identity: NodeIdentity): Record<string, string> {
  return { ...identity.annotations, ...(identity.machine !== undefined && { [MACHINE_ANNOTATION]: identity.machine }) };
}

/** As Kubernetes writes times: whole seconds. */
export function timeOf(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
