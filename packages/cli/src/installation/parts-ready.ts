import { AGENT_LEASE } from "@fjord/api";
import type { DaemonSet, Deployment, Lease, Pod } from "@fjord/kube";
import type { Progress } from "../command-line/wait-for.ts";

/** Whether all agents are those that were asked for, and none of before is left. */
export function agentsReady(found: Deployment | undefined, replicas: number): Progress {
  const { status, metadata } = found ?? {};
  const isCurrent = (status?.observedGeneration ?? -1) >= (metadata?.generation ?? 0);
  const [ready, updated, all] = [status?.readyReplicas ?? 0, status?.updatedReplicas ?? 0, status?.replicas ?? 0];
  if (isCurrent && updated === replicas && all <= replicas && ready >= replicas) return { done: true };
  if (isCurrent && updated === replicas && ready >= replicas)
    return { done: false, progress: "the agent of before has not ended yet" };
  const trouble = status?.conditions?.find(({ status: is }) => is === "False")?.message;
  return { done: false, progress: trouble ?? `${ready} of ${replicas} agents are ready` };
}

/** Whether one of the agents leads. One of before may still do so while it ends, and for as long as its Lease lasts where it was killed. */
export function agentLeads(lease: Lease | undefined, pods: readonly Pod[]): Progress {
  const holder = lease?.spec?.holderIdentity ?? "";
  // Its host, something of its process, and something of its run; no name of a host has a _.
  const [host = ""] = holder.split("_", 1);
  const agents = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (host !== "" && agents.some((pod) => hostnameOf(pod) === host)) return { done: true };
  const who = holder === "" ? "nobody" : `${host}, which is none of the new agents,`;
  return { done: false, progress: `waiting for a new agent to lead: ${who} holds Lease ${AGENT_LEASE}` };
}

/** Whether all nodes that are to have a part of what carries links have it, as it was asked for. */
export function onAllNodes(found: DaemonSet | undefined): Progress {
  const { status, metadata } = found ?? {};
  const isCurrent = (status?.observedGeneration ?? -1) >= (metadata?.generation ?? 0);
  if (!isCurrent) return { done: false, progress: "the cluster has not looked at what was asked for yet" };
  const {
    desiredNumberScheduled: wanted = 0,
    updatedNumberScheduled: updated = 0,
    numberReady: ready = 0,
  } = status ?? {};
  if (updated >= wanted && ready >= wanted) return { done: true };
  const old = updated < wanted ? `, the new one is on ${updated}` : "";
  return { done: false, progress: `${metadata?.name}: ready on ${ready} of ${wanted} nodes${old}` };
}

/** A pod that keeps others waiting though nothing says why. */
export function notReady(pods: readonly Pod[]): string | undefined {
  const pod = pods.find(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      !status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
  );
  if (pod === undefined) return undefined;
  const node = pod.spec?.nodeName;
  return `pod ${pod.metadata.name}${node === undefined ? "" : ` on node ${node}`} is not ready`;
}

function hostnameOf({ metadata, spec }: Pod): string {
  const name = spec?.hostNetwork ? spec.nodeName : metadata.name;
  return (name ?? "").slice(0, 63);
}
