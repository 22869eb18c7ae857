import type { LimitRange, PersistentVolumeClaim, Pod } from "@fjord/kube";
import { findAll } from "../cluster-objects.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { type Amount, type Amounts, amount, amounts, amountText } from "./amount.ts";
import { podTotals } from "./pod-totals.ts";
import { refusal } from "./refusal.ts";

type Container = NonNullable<Pod["spec"]>["containers"][number];
type Limit = NonNullable<LimitRange["spec"]>["limits"][number];
type Quantities = Readonly<Record<string, unknown>> | undefined;

/** Gives containers what a LimitRange has as defaults, and refuses what is out of its bounds. */
export const limitRanger: AdmissionPlugin = {
  name: "LimitRanger",
  mutate(request) {
    if (!applies(request) || request.type.plural !== "pods") return;
    for (const { spec } of ranges(request)) setDefaults(request.object as Pod, spec?.limits ?? []);
  },
  validate(request) {
    if (!applies(request)) return;
    for (const { spec } of ranges(request)) {
      const limits = spec?.limits ?? [];
      const problems =
        request.type.plural === "pods"
          ? podProblems(request.object as Pod, limits)
          : claimProblems(request.object as PersistentVolumeClaim, limits);
      const all = [...new Set(problems)];
      if (all.length > 0) throw refusal(request, all.length === 1 ? (all[0] as string) : `[${all.join(", ")}]`);
    }
  },
};

/** Pods cannot change what they ask for but by a resize; claims can. */
function applies({ type, operation, subresource, old }: AdmissionRequest): boolean {
  if (type.group !== "" || old?.metadata.deletionTimestamp !== undefined) return false;
  if (type.plural === "pods") {
    return (operation === "CREATE" && subresource === "") || (operation === "UPDATE" && subresource === "resize");
  }
  return type.plural === "persistentvolumeclaims" && subresource === "" && ["CREATE", "UPDATE"].includes(operation);
}

const ranges = ({ cluster, namespace }: AdmissionRequest) => findAll<LimitRange>(cluster, "LimitRange", namespace);

export function setDefaults(pod: Pod, limits: readonly Limit[]): void {
  const defaults = { limits: {} as Record<string, unknown>, requests: {} as Record<string, unknown> };
  for (const { type, default: most, defaultRequest } of limits) {
    if (type !== "Container") continue;
    Object.assign(defaults.limits, most);
    Object.assign(defaults.requests, defaultRequest);
  }
  const told: string[] = [];
  const fill = (container: Container, what: string, which: "requests" | "limits") => {
    const own = container.resources?.[which] ?? {};
    const missing = Object.keys(defaults[which]).filter((name) => own[name] === undefined);
    if (missing.length === 0) return;
    const added = Object.fromEntries(missing.map((name) => [name, defaults[which][name]]));
    container.resources = { ...container.resources, [which]: { ...own, ...added } };
    told.push(`${missing.sort().join(", ")} ${which.slice(0, -1)} for ${what} ${container.name}`);
  };
  const fillAll = (containers: readonly Container[], what: string) => {
    for (const container of containers) {
      fill(container, what, "requests");
      fill(container, what, "limits");
    }
  };
  fillAll(pod.spec?.containers ?? [], "container");
  fillAll(pod.spec?.initContainers ?? [], "init container");
  if (told.length === 0) return;
  const text = `LimitRanger plugin set: ${told.join("; ")}`;
  pod.metadata.annotations = { ...pod.metadata.annotations, "kubernetes.io/limit-ranger": text };
}

export function podProblems(pod: Pod, limits: readonly Limit[]): string[] {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return limits.flatMap((limit) => {
    if (limit.type === "Pod") return problemsOf(limit, podTotals(pod, "requests"), podTotals(pod, "limits"));
    if (limit.type !== "Container") return [];
    return containers.flatMap(({ resources }) =>
      problemsOf(limit, amounts(resources?.requests), amounts(resources?.limits)),
    );
  });
}

export function claimProblems(claim: PersistentVolumeClaim, limits: readonly Limit[]): string[] {
  const requests = amounts(claim.spec?.resources?.requests);
  return limits
    .filter(({ type }) => type === "PersistentVolumeClaim")
    .flatMap(({ type, min, max }) => [
      ...each(min, (name, bound) => tooLittle(type, name, bound, requests.get(name), undefined)),
      ...each(max, (name, bound) => {
        const request = requests.get(name);
        const begin = `maximum ${name} usage per ${type} is ${amountText(bound)}`;
        if (request === undefined) return `${begin}.  No request is specified`;
        return request.value > bound.value ? `${begin}, but request is ${amountText(request)}` : undefined;
      }),
    ]);
}

function problemsOf({ type, min, max, maxLimitRequestRatio }: Limit, requests: Amounts, limits: Amounts): string[] {
  return [
    ...each(min, (name, bound) => tooLittle(type, name, bound, requests.get(name), limits.get(name))),
    ...each(max, (name, bound) => tooMuch(type, name, bound, requests.get(name), limits.get(name))),
    ...each(maxLimitRequestRatio, (name, bound) => tooFar(type, name, bound, requests.get(name), limits.get(name))),
  ];
}

function each(bounds: Quantities, problem: (name: string, bound: Amount) => string | undefined): string[] {
  return Object.entries(bounds ?? {})
    .map(([name, text]) => problem(name, amount(text as string)))
    .filter((text) => text !== undefined);
}

type Maybe = Amount | undefined;

function tooLittle(type: string, name: string, bound: Amount, request: Maybe, limit: Maybe): string | undefined {
  const begin = `minimum ${name} usage per ${type} is ${amountText(bound)}`;
  if (request === undefined) return `${begin}.  No request is specified`;
  if (request.value < bound.value) return `${begin}, but request is ${amountText(request)}`;
  return limit !== undefined && limit.value < bound.value ? `${begin}, but limit is ${amountText(limit)}` : undefined;
}

function tooMuch(type: string, name: string, bound: Amount, request: Maybe, limit: Maybe): string | undefined {
  const begin = `maximum ${name} usage per ${type} is ${amountText(bound)}`;
  if (limit === undefined) return `${begin}.  No limit is specified`;
  if (limit.value > bound.value) return `${begin}, but limit is ${amountText(limit)}`;
  return request !== undefined && request.value > bound.value
    ? `${begin}, but request is ${amountText(request)}`
    : undefined;
}

function tooFar(type: string, name: string, bound: Amount, request: Maybe, limit: Maybe): string | undefined {
  const begin = `${name} max limit to request ratio per ${type} is ${amountText(bound)}`;
  if (!request?.value) return `${begin}, but no request is specified or request is 0`;
  if (!limit?.value) return `${begin}, but no limit is specified or limit is 0`;
  // Compared without a division: what is exactly at the bound is within it.
  if (limit.value * 1_000_000_000n <= bound.value * request.value) return undefined;
  return `${begin}, but provided ratio is ${(Number(limit.value) / Number(request.value)).toFixed(6)}`;
}
