import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField } from "../../field-error.ts";
import type { PodSpec } from "./pod-spec.ts";

type Annotations = Readonly<Record<string, string>>;
const mirror = "kubernetes.io/config.mirror";
const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const appArmor = "container.apparmor.security.beta.kubernetes.io/";

export const isMirrorPod = (annotations: Annotations | undefined): boolean => annotations?.[mirror] !== undefined;

export function validatePodAnnotations(
  annotations: Annotations | undefined,
  spec: PodSpec,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const mirrored = annotations?.[mirror];
  if (mirrored !== undefined && !spec.nodeName) {
    errors.push(invalidField(`${path}[${mirror}]`, mirrored, "must set spec.nodeName if mirror pod annotation is set"));
  }
  const cost = annotations?.[deletionCost];
  if (cost !== undefined && !isInt32(cost)) {
    errors.push(invalidField(`${path}[${deletionCost}]`, cost, "must be a 32bit integer"));
  }
  return errors;
}

function isInt32(text: string): boolean {
  return /^(0|-?[1-9]\d*)$/.test(text) && Math.abs(Number(text)) <= 2 ** 31 - 1;
}

export function validateAnnotationChange(
  annotations: Annotations | undefined,
  old: Annotations | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(old ?? {})) {
    if (annotations?.[key] === value) continue;
    if (key.startsWith(appArmor)) {
      errors.push(forbiddenField(`${path}[${key}]`, "may not remove or update AppArmor annotations"));
    }
    if (key === mirror) {
      errors.push(forbiddenField(`${path}[${key}]`, "may not remove or update mirror pod annotation"));
    }
  }
  for (const key of Object.keys(annotations ?? {})) {
    if (old?.[key] !== undefined) continue;
    if (key.startsWith(appArmor)) errors.push(forbiddenField(`${path}[${key}]`, "may not add AppArmor annotations"));
    if (key === mirror) errors.push(forbiddenField(`${path}[${key}]`, "may not add mirror pod annotation"));
  }
  return errors;
}
