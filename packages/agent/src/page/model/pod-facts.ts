import { CONSUMER_LABEL } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { requestsOf } from "./amounts.ts";
import type { Amounts } from "./snapshot.ts";

/** What is to be known of a pod without knowing anything else. */
export interface PodFacts {
  readonly namespace: string;
  /** `namespace/Kind/name` of what made it, or of itself. */
  readonly workload: string;
  readonly kind: string;
  readonly name: string;
  readonly node: string | undefined;
  /** Id of the site that it is a guest of. */
  readonly consumer: string | undefined;
  readonly phase: string;
  readonly ended: boolean;
  readonly ready: boolean;
  readonly restarts: number;
  readonly requests: Amounts;
  /** Why it is not well, where the pod itself says so. */
  readonly problem: string;
}

// Objects of a cache are never changed, so what was found out of one holds for as long as it is there.
const found = new WeakMap<Pod, PodFacts>();

export function podFacts(pod: Pod): PodFacts {
  const known = found.get(pod);
  if (known !== undefined) return known;
  const facts = look(pod);
  found.set(pod, facts);
  return facts;
}

function look(pod: Pod): PodFacts {
  const { metadata, spec, status } = pod;
  const namespace = metadata.namespace ?? "";
  const { kind, name } = makerOf(pod);
  const phase = status?.phase ?? "Pending";
  const ended = phase === "Succeeded" || phase === "Failed";
  return {
    namespace,
    workload: `${namespace}/${kind}/${name}`,
    kind,
    name,
    node: spec?.nodeName,
    consumer: metadata.labels?.[CONSUMER_LABEL],
    phase: metadata.deletionTimestamp === undefined ? phase : "Terminating",
    ended,
    ready: !ended && (status?.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True"),
    restarts: (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
    requests: ended ? {} : requestsOf(pod),
    problem: problemOf(pod),
  };
}

/** Guests carry no owner of their home, but the names and labels that it gave them. */
function makerOf({ metadata }: Pod): { kind: string; name: string } {
  const name = metadata.name ?? "";
  const hash = metadata.labels?.["pod-template-hash"];
  if (metadata.labels?.[CONSUMER_LABEL] !== undefined) {
    const cut = hash === undefined ? -1 : name.lastIndexOf(`-${hash}-`);
    return { kind: "Guest", name: cut > 0 ? name.slice(0, cut) : name };
  }
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (owner === undefined) return { kind: "Pod", name };
  if (owner.kind === "ReplicaSet" && hash !== undefined && owner.name.endsWith(`-${hash}`))
    return { kind: "Deployment", name: owner.name.slice(0, -hash.length - 1) };
  return { kind: owner.kind, name: owner.name };
}

const HARMLESS = new Set(["ContainerCreating", "PodInitializing"]);

function problemOf({ status, spec }: Pod): string {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  for (const { name, state } of statuses) {
    const waiting = state?.waiting;
    if (waiting?.reason !== undefined && !HARMLESS.has(waiting.reason))
      return sentence(`${name}: ${waiting.reason}`, waiting.message);
  }
  if (status?.phase === "Failed") return sentence(status.reason ?? "Failed", status.message);
  if (spec?.nodeName !== undefined) return "";
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return scheduled?.status === "False" ? sentence(scheduled.reason ?? "Unschedulable", scheduled.message) : "";
}

function sentence(head: string, more: string | undefined): string {
  return more === undefined || more === "" ? head : `${head}: ${more}`;
}
