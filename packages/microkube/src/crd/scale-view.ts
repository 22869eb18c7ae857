import type { KubeObject } from "@fjord/base";
import { jsonPathValues } from "@fjord/kube";
import { type FieldError, invalidField } from "../field-error.ts";
import type { Subresource } from "../kinds/resource-type.ts";
import { scaleColumns } from "../kinds/workloads/scale.ts";
import type { DefinitionVersion } from "./definition.ts";

type Paths = NonNullable<NonNullable<DefinitionVersion["subresources"]>["scale"]>;

/** autoscaling/v1 Scale of a custom resource, by the paths that its definition names. */
export function scaleView({ specReplicasPath, statusReplicasPath, labelSelectorPath }: Paths): Subresource {
  const read = (path: string | undefined, object: KubeObject) =>
    path === undefined ? undefined : jsonPathValues(path)(object)[0];
  return {
    type: "view",
    verbs: ["get", "patch", "update"],
    kind: { group: "autoscaling", version: "v1", kind: "Scale" },
    columns: scaleColumns,
    read: (object) => {
      const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
      const selector = read(labelSelectorPath, object);
      const replicas = read(specReplicasPath, object);
      return {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
        spec: { ...(typeof replicas === "number" && { replicas }) },
        status: { replicas: read(statusReplicasPath, object) ?? 0, ...(typeof selector === "string" && { selector }) },
      } as unknown as KubeObject;
    },
    write(object, sent) {
      const { replicas = 0 } = (sent as { spec?: { replicas?: number } }).spec ?? {};
      put(object as unknown as Record<string, unknown>, specReplicasPath.split(".").slice(1), replicas);
    },
  };
}

const LARGEST = 2 ** 31 - 1;

/** Whether what a definition's paths name can be scaled by. */
export function scaleProblems({ specReplicasPath, statusReplicasPath }: Paths, object: KubeObject): FieldError[] {
  return [specReplicasPath, statusReplicasPath].flatMap((path) => {
    const [value] = jsonPathValues(path)(object);
    if (value === undefined) return [];
    if (typeof value !== "number" || !Number.isInteger(value)) {
      const why = `${path} accessor error: ${goText(value)} is of the type ${goType(value)}, expected int64`;
      return [invalidField(path, 0, why)];
    }
    if (value < 0) return [invalidField(path, value, "should be a non-negative integer")];
    return value > LARGEST ? [invalidField(path, value, `should be less than or equal to ${LARGEST}`)] : [];
  });
}

function goText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function goType(value: unknown): string {
  if (typeof value === "number") return "float64";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}

function put(object: Record<string, unknown>, [first = "", ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    object[first] = value;
    return;
  }
  const below = object[first];
  const next = typeof below === "object" && below !== null ? (below as Record<string, unknown>) : {};
  object[first] = next;
  put(next, rest, value);
}
