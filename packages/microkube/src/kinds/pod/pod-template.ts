import type { IPodTemplateSpec } from "kubernetes-models/v1/PodTemplateSpec";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { validateAnnotations } from "../object-meta.ts";
import { validateLabels } from "../values/label.ts";
import { validatePodAnnotations } from "./pod-annotations.ts";
import { defaultPodSpec } from "./pod-defaults.ts";
import { validatePodSpec } from "./pod-spec.ts";

export type PodTemplate = Draft<IPodTemplateSpec>;

export function defaultPodTemplate(template: PodTemplate | undefined): void {
  if (template === undefined) return;
  template.spec ??= {};
  defaultPodSpec(template.spec);
}

export function validatePodTemplate(template: PodTemplate, path: string): FieldError[] {
  const spec = template.spec ?? {};
  const { labels, annotations } = (template.metadata ?? {}) as {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  const errors = [
    ...validateLabels(labels, `${path}.labels`),
    ...validateAnnotations(annotations, `${path}.annotations`),
    ...validatePodAnnotations(annotations, spec, `${path}.annotations`),
    ...validatePodSpec(spec, `${path}.spec`),
  ];
  if ((spec.ephemeralContainers ?? []).length > 0) {
    const text = "ephemeral containers not allowed in pod template";
    errors.push(forbiddenField(`${path}.spec.ephemeralContainers`, text));
  }
  return errors;
}
