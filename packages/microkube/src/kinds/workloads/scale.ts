import type { KubeObject } from "@fjord/base";
import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { invalid } from "../../status-error.ts";
import type { Column, Subresource } from "../resource-type.ts";
import { since } from "../values/duration.ts";
import { negativeText } from "../values/number.ts";

interface Scaled extends KubeObject {
  spec?: { replicas?: number };
  status?: { replicas?: number };
}

const column = (name: string, type: Column["type"], value: Column["value"]): Column => ({
  name,
  type,
  priority: 0,
  value,
});

/** Of tables of Scales, whatever is scaled. */
export const scaleColumns: readonly Column[] = [
  { ...column("Name", "string", ({ metadata }) => metadata.name ?? ""), format: "name" },
  column("Desired", "integer", (object) => (object as Scaled).spec?.replicas ?? 0),
  column("Available", "integer", (object) => (object as Scaled).status?.replicas ?? 0),
  column("Age", "string", ({ metadata }, now) => since(metadata.creationTimestamp, now)),
];

/** `/scale` of a workload: one number to read and to write, whatever the kind. */
export function scaleView(selectorOf: (object: KubeObject) => string): Subresource {
  return {
    type: "view",
    verbs: ["get", "patch", "update"],
    kind: { group: "autoscaling", version: "v1", kind: "Scale" },
    columns: scaleColumns,
    read(object) {
      const { metadata, spec, status } = object as Scaled;
      const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
      const selector = selectorOf(object);
      return {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
        spec: spec?.replicas ? { replicas: spec.replicas } : {},
        status: { replicas: status?.replicas ?? 0, ...(selector !== "" && { selector }) },
      } as unknown as KubeObject;
    },
    write(object, sent) {
      const scaled = object as Scaled;
      scaled.spec = { ...scaled.spec, replicas: (sent as Scaled).spec?.replicas ?? 0 };
    },
    validate: (object): FieldError[] => {
      const replicas = (object as Scaled).spec?.replicas ?? 0;
      if (replicas >= 0) return [];
      // It is the Scale that is wrong, not the object behind it.
      const error = invalidField("spec.replicas", replicas, negativeText);
      throw invalid({ group: "autoscaling", kind: "Scale" }, object.metadata.name ?? "", [error]);
    },
  };
}
