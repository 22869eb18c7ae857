import { type Pod, qosClass } from "@fjord/kube";
import { type Amount, type Amounts, added, amounts, count, largest } from "../amount.ts";
import { declared, podTotals } from "../pod-totals.ts";
import type { QuotaEvaluator } from "./quota-evaluator.ts";
import { selectsValue } from "./scope.ts";

type Which = "requests" | "limits";

const names = ["cpu", "memory", "ephemeral-storage"];
const counted = [
  "count/pods",
  "pods",
  ...names,
  ...names.map((name) => `requests.${name}`),
  ...names.map((name) => `limits.${name}`),
];
/** Where a quota limits these, each container has to say how much of it. */
const needed = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

export const podEvaluator: QuotaEvaluator = {
  handles({ operation, subresource, object, old }) {
    if (subresource === "resize") return operation === "UPDATE";
    if (subresource !== "") return false;
    return operation === "CREATE" || (operation === "UPDATE" && isBounded(object as Pod) !== isBounded(old as Pod));
  },
  counts: (limited) => limited.filter((name) => counted.includes(name) || isOtherResource(name)),
  usage(object, now) {
    const pod = object as Pod;
    const one = new Map([["count/pods", count(1)]]);
    if (!isAlive(pod, now)) return one;
    return new Map([...one, ...usageOf(total(pod, "requests"), total(pod, "limits"))]);
  },
  problem(limited, object) {
    const { spec } = object as Pod;
    const whole = { ...spec?.resources?.limits, ...spec?.resources?.requests };
    if (Object.keys(whole).length > 0) return undefined;
    const required = limited.filter((name) => needed.includes(name)).sort();
    const told = required.flatMap((name) => {
      const silent = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].filter(
        ({ resources }) => !usageOf(amounts(resources?.requests), amounts(resources?.limits)).has(name),
      );
      if (silent.length === 0) return [];
      return [`${name} for: ${[...new Set(silent.map((container) => container.name))].sort().join(",")}`];
    });
    return told.length === 0 ? undefined : `must specify ${told.join("; ")}`;
  },
  inScope(selector, object) {
    const pod = object as Pod;
    switch (selector.scopeName) {
      case "Terminating":
        return isBounded(pod);
      case "NotTerminating":
        return !isBounded(pod);
      case "BestEffort":
        return qosClass(pod) === "BestEffort";
      case "NotBestEffort":
        return qosClass(pod) !== "BestEffort";
      case "PriorityClass":
        return selectsValue(selector, pod.spec?.priorityClassName || undefined);
      case "CrossNamespacePodAffinity":
        return looksElsewhere(pod);
      default:
        return false;
    }
  },
};

/** Huge pages, and whatever a device plugin may offer. */
function isOtherResource(name: string): boolean {
  if (name.startsWith("hugepages-") || name.startsWith("requests.hugepages-")) return true;
  const [, rest = ""] = name.split(/^requests\.(.*)$/s);
  return rest.includes("/") && !/(^|\.)kubernetes\.io\//.test(rest);
}

function usageOf(requests: Amounts, limits: Amounts): Amounts {
  const usage = new Map<string, Amount>([["pods", count(1)]]);
  for (const [name, amount] of requests) {
    const isKnown = names.includes(name) || name.startsWith("hugepages-");
    if (isKnown) usage.set(name, amount);
    if (isKnown || name.includes("/")) usage.set(`requests.${name}`, amount);
  }
  for (const name of names) {
    const limit = limits.get(name);
    if (limit !== undefined) usage.set(`limits.${name}`, limit);
  }
  return usage;
}

/** What was given to a container in the past counts until it is taken back: a pod in the middle of a resize. */
function total(pod: Pod, which: Which): Amounts {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  const sum = podTotals(pod, which, (container, of) => {
    const status = statuses.find(({ name }) => name === container.name);
    const given = largest(declared(container, of), amounts(status?.resources?.[of]));
    return of === "requests" ? largest(given, amounts(status?.allocatedResources)) : given;
  });
  const overhead = amounts(pod.spec?.overhead);
  if (which === "requests") return added(sum, overhead);
  return added(sum, new Map([...overhead].filter(([name]) => sum.has(name))));
}

const isBounded = ({ spec }: Pod) => (spec?.activeDeadlineSeconds ?? -1) >= 0;

function isAlive({ metadata, status }: Pod, now: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  return now <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function looksElsewhere({ spec }: Pod): boolean {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  return [podAffinity, podAntiAffinity].some((affinity) => {
    const preferred = (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      (term) => term.podAffinityTerm,
    );
    const terms = [...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []), ...preferred];
    return terms.some(({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector);
  });
}
