import { isDeepStrictEqual } from "node:util";
import type { KubeObject, ObjectMeta } from "@fjord/base";
import type { Namespace, Pod } from "@fjord/kube";
import { find, findAll } from "../../cluster-objects.ts";
import { invalid } from "../../status-error.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import { refusal } from "../refusal.ts";
import { isStricter, type LevelVersion, levelText, podSecurityPolicy } from "./pod-security-policy.ts";
import { describeViolations, violationsOf } from "./standards.ts";
import { containersOf, type PodSpec } from "./violation.ts";

const MOST_PODS = 3000;
const ignored = ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

/** Where the pod template of each kind that has one lies. */
const templates: Readonly<Record<string, (object: KubeObject) => Template | undefined>> = {
  "/podtemplates": (object) => (object as unknown as { template?: Template }).template,
  "/replicationcontrollers": specTemplate,
  "apps/replicasets": specTemplate,
  "apps/deployments": specTemplate,
  "apps/statefulsets": specTemplate,
  "apps/daemonsets": specTemplate,
  "batch/jobs": specTemplate,
  "batch/cronjobs": (object) =>
    (object as unknown as { spec?: { jobTemplate?: { spec?: { template?: Template } } } }).spec?.jobTemplate?.spec
      ?.template,
};

interface Template {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
}

function specTemplate(object: KubeObject): Template | undefined {
  return (object as unknown as { spec?: { template?: Template } }).spec?.template;
}

/** Keeps pods to the standard that their namespace's labels name. */
export const podSecurity: AdmissionPlugin = {
  name: "PodSecurity",
  validate(request) {
    const { type, operation, subresource, object } = request;
    if (object === undefined || (operation !== "CREATE" && operation !== "UPDATE")) return;
    if (type.group === "" && type.plural === "namespaces") return checkNamespace(request);
    if (type.group === "" && type.plural === "pods") return checkPod(request);
    const template = subresource === "" ? templates[`${type.group}/${type.plural}`]?.(object) : undefined;
    if (template?.spec !== undefined) warnOf(request, template.metadata ?? {}, template.spec);
  },
};

function policyOf({ cluster, namespace }: AdmissionRequest) {
  return podSecurityPolicy(find<Namespace>(cluster, "Namespace", "", namespace)?.metadata.labels).policy;
}

function checkPod(request: AdmissionRequest): void {
  const { subresource, object, old } = request;
  if (ignored.includes(subresource)) return;
  const { enforce } = policyOf(request);
  const pod = object as Pod;
  if (pod.spec === undefined || (old !== undefined && !changesImages(pod.spec, (old as Pod).spec))) return;
  const violations = violationsOf(enforce, pod.metadata, pod.spec);
  if (violations.length > 0) {
    throw refusal(request, `violates PodSecurity "${levelText(enforce)}": ${describeViolations(violations)}`);
  }
  warnOf(request, pod.metadata, pod.spec);
}

function warnOf(request: AdmissionRequest, metadata: ObjectMeta, spec: PodSpec): void {
  const { warn } = policyOf(request);
  const violations = violationsOf(warn, metadata, spec);
  if (violations.length === 0) return;
  request.warn(`would violate PodSecurity "${levelText(warn)}": ${describeViolations(violations)}`);
}

/** What else may be changed of a pod changes nothing here; only new images and containers are looked at. */
function changesImages(spec: PodSpec, old: PodSpec | undefined): boolean {
  const images = (of: PodSpec | undefined) =>
    of === undefined ? [] : containersOf(of).map(({ name, image }) => [name, image]);
  return !isDeepStrictEqual(images(spec), images(old));
}

function checkNamespace(request: AdmissionRequest): void {
  const { type, object, old, subresource, name } = request;
  if (subresource !== "") return;
  const { policy, errors } = podSecurityPolicy(object?.metadata.labels);
  const before = old && podSecurityPolicy(old.metadata.labels);
  if (errors.length > 0 && !(before && isDeepStrictEqual(before.errors, errors))) {
    throw invalid({ group: type.group, kind: type.kind }, name || (object?.metadata.name ?? ""), errors);
  }
  if (before === undefined) return;
  const was = before.policy.enforce;
  const { enforce } = policy;
  const isTighter = enforce.minor !== was.minor || isStricter(enforce.level, was.level);
  if (isDeepStrictEqual(enforce, was) || enforce.level === "privileged" || !isTighter) return;
  for (const warning of podWarnings(findAll<Pod>(request.cluster, "Pod", name), name, enforce)) request.warn(warning);
}

/** Which pods that are there would not be let in any more. */
export function podWarnings(pods: readonly Pod[], namespace: string, enforce: LevelVersion): string[] {
  const found = new Map<string, { name: string; count: number }>();
  for (const { metadata, spec } of prioritized(pods).slice(0, MOST_PODS)) {
    const violations = spec === undefined ? [] : violationsOf(enforce, metadata, spec);
    if (violations.length === 0) continue;
    const reasons = violations.map(({ reason }) => reason).join(", ");
    const { name = "" } = metadata;
    const known = found.get(reasons);
    if (known === undefined) found.set(reasons, { name, count: 1 });
    else found.set(reasons, { name: name < known.name ? name : known.name, count: known.count + 1 });
  }
  const told = [...found].map(([reasons, { name, count }]) => {
    const others = count === 1 ? "" : count === 2 ? " (and 1 other pod)" : ` (and ${count - 1} other pods)`;
    return `${name}${others}: ${reasons}`;
  });
  const level = levelText(enforce);
  return [
    ...(pods.length > MOST_PODS
      ? [`new PodSecurity enforce level only checked against the first ${MOST_PODS} of ${pods.length} existing pods`]
      : []),
    ...(told.length > 0
      ? [`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${level}"`]
      : []),
    ...told.sort(),
  ];
}

/** One of each controller's first, so that the most kinds of pods are seen. */
function prioritized(pods: readonly Pod[]): Pod[] {
  const seen = new Set<string>();
  const first: Pod[] = [];
  const others: Pod[] = [];
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
    (owner !== undefined && seen.has(owner) ? others : first).push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...others];
}
