import type { IPodTemplate } from "kubernetes-models/v1/PodTemplate";
import { containerColumns, labelsText, nameColumn, text } from "../columns.ts";
import { defineResource, type KindColumn } from "../kind.ts";
import { defaultPodTemplate, validatePodTemplate } from "../pod/pod-template.ts";
import { templateWarnings } from "../pod/pod-warnings.ts";

const always = <T>(column: KindColumn<T>): KindColumn<T> => ({ ...column, priority: 0 });

export const podTemplate = defineResource<IPodTemplate>({
  group: "",
  kind: "PodTemplate",
  createsOnUpdate: true,
  generation: "content",
  default(object) {
    object.template ??= {};
    defaultPodTemplate(object.template);
  },
  validate: ({ template }) => validatePodTemplate(template ?? {}, "template"),
  warnings: ({ template }) => templateWarnings(template, "template"),
  columns: [
    nameColumn(),
    ...containerColumns<IPodTemplate>(({ template }) => template?.spec).map(always),
    text("Pod Labels", ({ template }) => labelsText(template?.metadata?.labels as Record<string, string> | undefined)),
  ],
});
