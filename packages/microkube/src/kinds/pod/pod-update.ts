import { qosClass } from "@fjord/kube";
import type { IPod } from "kubernetes-models/v1/Pod";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, required } from "../../field-error.ts";
import type { DraftObject } from "../kind.ts";
import { difference } from "../values/difference.ts";
import { sameMeaning } from "../values/equality.ts";
import { between } from "../values/name.ts";
import type { Container } from "./containers.ts";
import { isMirrorPod, validateAnnotationChange } from "./pod-annotations.ts";
import type { PodSpec } from "./pod-spec.ts";
import { validateTolerations } from "./toleration.ts";

export type Pod = DraftObject<IPod>;

const changeable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

/** What a pod that exists may become: another image, more tolerations, fewer gates, and little else. */
export function validatePodChange(pod: Pod, old: Pod): FieldError[] {
  const spec = pod.spec ?? {};
  const before = old.spec ?? {};
  const errors = validateAnnotationChange(pod.metadata.annotations, old.metadata.annotations, "metadata.annotations");
  for (const field of ["containers", "initContainers"] as const) {
    const found = validateImages(spec[field] ?? [], before[field] ?? [], `spec.${field}`);
    errors.push(...found.errors);
    if (found.isOther) return errors;
  }
  const deadline = validateDeadline(spec.activeDeadlineSeconds, before.activeDeadlineSeconds);
  errors.push(...deadline);
  if (deadline.length > 0 && spec.activeDeadlineSeconds !== undefined) return errors;
  errors.push(...validateAddedTolerations(spec, before), ...validateRemovedGates(spec, before));
  if (sameMeaning(spec, before)) return errors;
  const rest = allowedAside(spec, before);
  if ((before.schedulingGates ?? []).length > 0) errors.push(...narrowedWhileGated(rest, before));
  if (sameMeaning(rest, before)) return errors;
  const text = `pod updates may not change fields other than ${changeable}\n${difference(before, rest)}`;
  return [...errors, forbiddenField("spec", text)];
}

function validateImages(
  containers: readonly Container[],
  before: readonly Container[],
  path: string,
): { errors: FieldError[]; isOther: boolean } {
  if (containers.length !== before.length) {
    const errors = [forbiddenField(path, "pod updates may not add or remove containers")];
    return { errors, isOther: true };
  }
  const errors = containers.flatMap(({ image = "" }, i) => (image === "" ? [required(`${path}[${i}].image`)] : []));
  return { errors, isOther: false };
}

function validateDeadline(next: number | undefined, before: number | undefined): FieldError[] {
  const path = "spec.activeDeadlineSeconds";
  if (next === undefined) {
    if (before === undefined) return [];
    return [invalidField(path, undefined, "must not update from a positive integer to nil value")];
  }
  if (next < 0 || next > 2 ** 31 - 1) return [invalidField(path, next, between(0, 2 ** 31 - 1))];
  if (before === undefined || next <= before) return [];
  return [invalidField(path, next, "must be less than or equal to previous value")];
}

function validateAddedTolerations(spec: PodSpec, before: PodSpec): FieldError[] {
  const plain = ({ tolerationSeconds, ...rest }: NonNullable<PodSpec["tolerations"]>[number]) => rest;
  const now = (spec.tolerations ?? []).map(plain);
  const isKept = (before.tolerations ?? []).every((one) => now.some((other) => sameMeaning(other, plain(one))));
  if (isKept) return validateTolerations(spec.tolerations, "spec.tolerations");
  return [forbiddenField("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

function validateRemovedGates(spec: PodSpec, before: PodSpec): FieldError[] {
  const known = (before.schedulingGates ?? []).map(({ name }) => name);
  return (spec.schedulingGates ?? []).flatMap(({ name }, i) => {
    if (known.includes(name)) return [];
    const text = `only deletion is allowed, but found new scheduling gate '${name}'`;
    return [forbiddenField(`spec.schedulingGates[${i}].name`, text)];
  });
}

/** The spec with what may change as it was. */
function allowedAside(spec: PodSpec, before: PodSpec): PodSpec {
  const images = (containers: readonly Container[], old: readonly Container[]) =>
    containers.map((one, i) => ({ ...one, image: old[i]?.image }));
  const rest: PodSpec = {
    ...spec,
    containers: images(spec.containers ?? [], before.containers ?? []) as Container[],
    activeDeadlineSeconds: before.activeDeadlineSeconds,
    schedulingGates: before.schedulingGates,
    tolerations: before.tolerations,
  };
  if (spec.initContainers !== undefined) {
    rest.initContainers = images(spec.initContainers, before.initContainers ?? []) as Container[];
  }
  if ((before.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1) {
    rest.terminationGracePeriodSeconds = before.terminationGracePeriodSeconds;
  }
  return rest;
}

/** While gates hold a pod back, where it may go can be narrowed down. Puts into `rest` what it was. */
function narrowedWhileGated(rest: PodSpec, before: PodSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (!sameMeaning(rest.nodeSelector, before.nodeSelector)) {
    const kept = Object.entries(before.nodeSelector ?? {});
    if (kept.some(([key, value]) => rest.nodeSelector?.[key] !== value)) {
      const text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
      errors.push(invalidField("spec.nodeSelector", rest.nodeSelector, text));
    }
    rest.nodeSelector = before.nodeSelector;
  }
  const node = before.affinity?.nodeAffinity;
  if (sameMeaning(rest.affinity?.nodeAffinity, node)) return errors;
  const must = "requiredDuringSchedulingIgnoredDuringExecution";
  const path = `spec.affinity.nodeAffinity.${must}.nodeSelectorTerms`;
  const terms = rest.affinity?.nodeAffinity?.[must]?.nodeSelectorTerms ?? [];
  const oldTerms = node?.[must]?.nodeSelectorTerms ?? [];
  if (oldTerms.length > 0 && terms.length !== oldTerms.length) {
    errors.push(invalidField(path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
  } else {
    for (const [i, term] of oldTerms.entries()) {
      const isKept = (["matchExpressions", "matchFields"] as const).every((field) =>
        (term[field] ?? []).every((one, j) => sameMeaning(terms[i]?.[field]?.[j], one)),
      );
      if (isKept) continue;
      errors.push(invalidField(`${path}[${i}]`, terms[i], "only additions are allowed (no mutations or deletions)"));
    }
  }
  const affinity = { ...rest.affinity, nodeAffinity: node };
  if (sameMeaning(affinity, {})) delete rest.affinity;
  else rest.affinity = affinity;
  return errors;
}

/** Of a write of `/ephemeralcontainers`: what is there stays as it is. */
export function validateEphemeralChange(pod: Pod, old: Pod): FieldError[] {
  if (isMirrorPod(old.metadata.annotations)) {
    return [forbiddenField("", "static pods do not support ephemeral containers")];
  }
  const path = "spec.ephemeralContainers";
  return (old.spec?.ephemeralContainers ?? []).flatMap((before) => {
    const now = pod.spec?.ephemeralContainers?.find(({ name }) => name === before.name);
    const which = `existing ephemeral containers ${JSON.stringify(before.name)}`;
    if (now === undefined) return [forbiddenField(path, `${which} may not be removed\n`)];
    if (sameMeaning(now, before)) return [];
    return [forbiddenField(path, `${which} may not be changed\n${difference(before, now)}`)];
  });
}

/** Of a write of `/resize`: processors and memory of running containers, and nothing else. */
export function validateResize(pod: Pod, old: Pod): FieldError[] {
  if (isMirrorPod(old.metadata.annotations)) return [forbiddenField("", "static pods cannot be resized")];
  if (old.spec?.os?.name === "windows") return [forbiddenField("", "windows pods cannot be resized")];
  const errors: FieldError[] = [];
  if (qosClass(pod as never) !== old.status?.qosClass) {
    const text = "Pod QOS Class may not change as a result of resizing";
    errors.push(invalidField("spec", pod.status?.qosClass ?? "", text));
  }
  const running = old.status?.containerStatuses?.find(({ state }) => state?.running !== undefined);
  if (running !== undefined && running.resources === undefined) {
    errors.push(forbiddenField("spec", "Pod running on node without support for resize"));
  }
  for (const field of ["containers", "initContainers"] as const) {
    const now = pod.spec?.[field] ?? [];
    const before = old.spec?.[field] ?? [];
    if (now.length !== before.length) {
      return [...errors, forbiddenField(`spec.${field}`, `${field} may not be added or removed on resize`)];
    }
    for (const [i, container] of before.entries()) {
      if (now[i]?.name === container.name) continue;
      const text = `${field} may not be renamed or reordered on resize`;
      return [...errors, forbiddenField(`spec.${field}[${i}].name`, text)];
    }
    for (const [i, container] of before.entries()) {
      errors.push(...validateNothingRemoved(now[i] ?? {}, container, `spec.${field}[${i}].resources`));
      if (sameMeaning(withoutSize(now[i] ?? {}, container), container)) continue;
      if (field === "containers") errors.push(forbiddenField("spec", "only cpu and memory resources are mutable"));
      else errors.push(forbiddenField("spec", "resources for non-sidecar init containers are immutable"));
    }
  }
  return errors;
}

function validateNothingRemoved(now: Container, before: Container, path: string): FieldError[] {
  return (["requests", "limits"] as const).flatMap((field) => {
    const names = Object.keys(before.resources?.[field] ?? {});
    if (names.every((name) => now.resources?.[field]?.[name] !== undefined)) return [];
    return [forbiddenField(`${path}.${field}`, `resource ${field} cannot be removed`)];
  });
}

/** A container with processors and memory as they were. */
function withoutSize(now: Container, before: Container): Container {
  const amounts = (field: "requests" | "limits") => {
    const { cpu, memory, ...rest } = (now.resources?.[field] ?? {}) as Record<string, string>;
    const old = before.resources?.[field] ?? {};
    return {
      ...rest,
      ...(old.cpu !== undefined && { cpu: old.cpu }),
      ...(old.memory !== undefined && { memory: old.memory }),
    };
  };
  return { ...now, resources: { ...now.resources, limits: amounts("limits"), requests: amounts("requests") } };
}
