import { isDeepStrictEqual } from "node:util";
import { amountsOf, type Pod, type RuntimeClass } from "@fjord/kube";
import { find } from "../cluster-objects.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isFor, refusal } from "./refusal.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Toleration = NonNullable<PodSpec["tolerations"]>[number];

const MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/** Pods get the overhead and the nodes of their runtime class. */
export const runtimeClass: AdmissionPlugin = {
  name: "RuntimeClass",
  mutate(request) {
    const spec = specOf(request);
    const found = spec && classOf(request, spec);
    if (spec === undefined || found === undefined) return;
    const { overhead, scheduling } = found;
    const fixed = overhead?.podFixed;
    if (overhead !== undefined) {
      if (Object.keys(spec.overhead ?? {}).length > 0 && !sameAmounts(spec.overhead, fixed)) {
        throw refusal(request, MISMATCH);
      }
      if (fixed !== undefined) spec.overhead = structuredClone(fixed);
    }
    if (scheduling === undefined) return;
    for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
      const own = spec.nodeSelector?.[key];
      if (own === undefined || own === value) continue;
      const told = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`;
      throw refusal(request, told);
    }
    const nodeSelector = { ...spec.nodeSelector, ...scheduling.nodeSelector };
    if (Object.keys(nodeSelector).length > 0) spec.nodeSelector = nodeSelector;
    const tolerations = mergedTolerations([...(spec.tolerations ?? []), ...(scheduling.tolerations ?? [])]);
    if (tolerations.length > 0) spec.tolerations = tolerations;
  },
  validate(request) {
    const spec = specOf(request);
    if (spec === undefined) return;
    const overhead = classOf(request, spec)?.overhead;
    if (overhead === undefined) {
      if (spec.overhead === undefined) return;
      throw refusal(request, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
    }
    if (!sameAmounts(spec.overhead, overhead.podFixed)) throw refusal(request, MISMATCH);
  },
};

function specOf(request: AdmissionRequest): PodSpec | undefined {
  if (!isFor(request, "pods") || request.operation !== "CREATE") return undefined;
  return (request.object as Pod).spec;
}

function classOf(request: AdmissionRequest, { runtimeClassName: name }: PodSpec): RuntimeClass | undefined {
  if (name === undefined) return undefined;
  const found = find<RuntimeClass>(request.cluster, "RuntimeClass", "", name, "node.k8s.io");
  if (found === undefined) throw refusal(request, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  return found;
}

type Amounts = Record<string, string | number>;

function sameAmounts(a: PodSpec["overhead"], b: PodSpec["overhead"]): boolean {
  return isDeepStrictEqual(amountsOf((a ?? {}) as Amounts), amountsOf((b ?? {}) as Amounts));
}

/** Of tolerations that bear the same, only the one that bears more. */
export function mergedTolerations(all: readonly Toleration[]): Toleration[] {
  const merged: Toleration[] = [];
  for (const [index, one] of all.entries()) {
    const isMore = (other: Toleration) => !isDeepStrictEqual(other, one) && bearsAll(other, one);
    if (merged.some((other) => bearsAll(other, one)) || all.slice(index + 1).some(isMore)) continue;
    merged.push(one);
  }
  return merged;
}

function bearsAll(more: Toleration, less: Toleration): boolean {
  if (isDeepStrictEqual(more, less)) return true;
  const { key = "", operator = "Equal", effect = "", value = "", tolerationSeconds } = more;
  if (key !== (less.key ?? "") && (key !== "" || operator !== "Exists")) return false;
  if (effect !== "" && effect !== (less.effect ?? "")) return false;
  if (effect === "NoExecute" && tolerationSeconds !== undefined) {
    if (less.tolerationSeconds === undefined || less.tolerationSeconds > tolerationSeconds) return false;
  }
  return operator === "Exists" || ((less.operator ?? "Equal") === "Equal" && (less.value ?? "") === value);
}
