import { nameOf, type OpenApiSchema } from "./openapi.ts";

/** A schema as the data file holds it: microkube's `Schema`, with `$` naming a definition where the API has a reference. */
export interface CompactSchema {
  $?: string;
  type?: string;
  format?: string;
  properties?: Record<string, CompactSchema>;
  required?: string[];
  additionalProperties?: CompactSchema;
  items?: CompactSchema;
  default?: unknown;
  enum?: unknown[];
  listType?: string;
  listMapKeys?: string[];
  atomic?: boolean;
  patchStrategy?: string;
  patchMergeKey?: string;
  preserveUnknown?: boolean;
  empty?: string;
}

/**
 * Types whose JSON their own code reads and writes, of which OpenAPI tells little: anything may be in them. In typed
 * merging they are what OpenAPI says: objects and scalars without fields.
 */
const special: Record<string, CompactSchema> = {
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { type: "int-or-string" },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { type: "int-or-string", format: "quantity" },
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": { type: "string", format: "micro-time" },
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": { type: "string", format: "date-time" },
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": { type: "object", preserveUnknown: true, atomic: true },
  "io.k8s.apimachinery.pkg.runtime.RawExtension": { type: "object", preserveUnknown: true, atomic: true },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": { type: "any", atomic: true },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": {
    type: "any",
    atomic: true,
    format: "schema-or-array",
  },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": {
    type: "any",
    atomic: true,
    format: "schema-or-bool",
  },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": {
    type: "any",
    atomic: true,
    format: "schema-or-strings",
  },
};

export function compactDefinition(name: string, schema: OpenApiSchema): CompactSchema {
  return special[name] ?? compact(schema);
}

/** Whether its JSON is written by code of its own. */
export function isSpecial(name: string): boolean {
  return name in special;
}

export function compact(schema: OpenApiSchema): CompactSchema {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
  const { type, format, properties, required, additionalProperties, items } = schema;
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"];
  const strategy = schema["x-kubernetes-patch-strategy"];
  const mergeKey = schema["x-kubernetes-patch-merge-key"];
  return {
    ...(ref !== undefined && { $: shortName(nameOf(ref)) }),
    ...(type !== undefined && { type }),
    ...(format !== undefined && { format }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, compact(one)])),
    }),
    ...(required && { required }),
    ...(additionalProperties && { additionalProperties: compact(additionalProperties) }),
    ...(items && { items: compact(items) }),
    ...(!isZero(schema.default) && { default: schema.default }),
    ...(schema.enum && { enum: schema.enum }),
    ...(listType !== undefined && { listType }),
    ...(keys && { listMapKeys: keys }),
    ...(schema["x-kubernetes-map-type"] === "atomic" && { atomic: true }),
    ...(strategy !== undefined && { patchStrategy: strategy }),
    ...(mergeKey !== undefined && { patchMergeKey: mergeKey }),
    ...(schema["x-kubernetes-preserve-unknown-fields"] && { preserveUnknown: true }),
  };
}

/** What the names of definitions begin with, longest first. */
export const PREFIXES: readonly string[] = [
  "io.k8s.apiextensions-apiserver.pkg.apis.",
  "io.k8s.kube-aggregator.pkg.apis.",
  "io.k8s.apimachinery.pkg.apis.",
  "io.k8s.apimachinery.pkg.",
  "io.k8s.api.",
];

/** Shorter in the file, and still unique: `core.v1.Pod`, `meta.v1.ObjectMeta`. */
export function shortName(name: string): string {
  const prefix = PREFIXES.find((one) => name.startsWith(one)) ?? "";
  return name.slice(prefix.length);
}

/** Go's zero values are no defaults: they say that the field is no pointer. */
function isZero(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
