import { type CustomKind, type JsonSchema, modelName } from "./custom-kind.ts";
import { toSwagger } from "./swagger-schema.ts";

/** What the data file holds of a real server's documents for custom resources, under names that are replaced. */
export interface Sample {
  readonly info: unknown;
  /** What the paths and the list refer to. */
  readonly schemas: Record<string, JsonSchema>;
  readonly list: JsonSchema;
  readonly kind: JsonSchema;
  readonly v3: Paths;
  readonly v2: Paths;
}

interface Paths {
  readonly namespaced: Record<string, unknown>;
  readonly cluster: Record<string, unknown>;
}

export type Form = "v2" | "v3";

/** The definitions of a kind and of its list, by name. */
export function definitionsOf(custom: CustomKind, sample: Sample, form: Form): Record<string, unknown> {
  return {
    [modelName(custom, custom.kind)]: kindDefinition(custom, sample, form),
    [modelName(custom, custom.listKind)]: JSON.parse(named(JSON.stringify(inForm(sample.list, form)), custom)),
  };
}

function kindDefinition(custom: CustomKind, sample: Sample, form: Form): JsonSchema {
  const { group, kind, version, schema } = custom;
  const gvk = { "x-kubernetes-group-version-kind": [{ group, kind, version }] };
  const isOpen = schema?.["x-kubernetes-preserve-unknown-fields"] === true || custom.preserveUnknownFields;
  if (schema === undefined || (form === "v2" && isOpen)) return { type: "object", ...gvk };
  const plain = form === "v2" ? toSwagger(schema) : schema;
  const { apiVersion, kind: kindField, metadata } = headOf(sample, form);
  const { properties } = withEmbedded(plain, sample, form) as { properties?: Record<string, unknown> };
  return { ...plain, properties: { ...properties, apiVersion, kind: kindField, metadata }, ...gvk };
}

function headOf({ kind }: Sample, form: Form): Record<string, unknown> {
  return (inForm(kind, form) as { properties: Record<string, unknown> }).properties;
}

/** Whole objects within a custom resource have a version, a kind and metadata, too. */
function withEmbedded(schema: JsonSchema, sample: Sample, form: Form): JsonSchema {
  const { properties, items, additionalProperties } = schema as Record<string, JsonSchema | undefined>;
  const deeper = (one: unknown) => withEmbedded(one as JsonSchema, sample, form);
  const result: Record<string, unknown> = { ...schema };
  if (properties !== undefined) {
    result.properties = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, deeper(one)]));
  }
  if (items !== undefined) result.items = deeper(items);
  if (typeof additionalProperties === "object") result.additionalProperties = deeper(additionalProperties);
  if (schema["x-kubernetes-embedded-resource"] !== true) return result;
  const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
  const description = {
    apiVersion: `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`,
    kind: `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`,
  };
  return {
    ...result,
    properties: {
      ...(result.properties as object | undefined),
      apiVersion: { description: description.apiVersion, type: "string" },
      kind: { description: description.kind, type: "string" },
      metadata: headOf(sample, form).metadata,
    },
    required: [...new Set([...((schema.required as string[] | undefined) ?? []), "kind", "apiVersion"])],
  };
}

/** References are written in another way in each form. */
function inForm(schema: JsonSchema, form: Form): JsonSchema {
  if (form === "v3") return schema;
  const text = JSON.stringify(schema)
    .replace(/"allOf":\[\{"\$ref":"#\/components\/schemas\/([^"]+)"\}\]/g, '"$ref":"#/definitions/$1"')
    .replaceAll("#/components/schemas/", "#/definitions/");
  return JSON.parse(text);
}

/** The paths of a kind. */
export function pathsOf(custom: CustomKind, sample: Sample, form: Form): Record<string, unknown> {
  const paths = custom.namespaced ? sample[form].namespaced : sample[form].cluster;
  const served = Object.entries(paths).filter(([path]) => {
    if (path.endsWith("/status")) return custom.hasStatus;
    return path.endsWith("/scale") ? custom.hasScale : true;
  });
  return JSON.parse(named(JSON.stringify(Object.fromEntries(served)), custom));
}

/** Puts a kind's names in the place of the sample's. */
function named(text: string, custom: CustomKind): string {
  const { group, version, kind, listKind, plural } = custom;
  const words = [...group.split(/[^a-zA-Z0-9]+/), version].filter((word) => word !== "");
  const title = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  const operation = words.map(title).join("");
  const tag = `${operation.charAt(0).toLowerCase()}${operation.slice(1, -version.length)}_${version}`;
  const article = /^[aeiou]/i.test(kind) ? "an" : "a";
  return text
    .replaceAll("zzdomain.zzgroup.v9.ZzkindList", modelName(custom, listKind))
    .replaceAll("zzdomain.zzgroup.v9.Zzkind", modelName(custom, kind))
    .replaceAll("zzgroupZzdomain_v9", tag)
    .replaceAll("ZzgroupZzdomainV9", operation)
    .replaceAll("zzgroup.zzdomain", group)
    .replaceAll("/v9/", `/${version}/`)
    .replaceAll('"version":"v9"', `"version":${JSON.stringify(version)}`)
    .replaceAll("ZzkindList", listKind)
    .replaceAll(" a Zzkind", ` ${article} Zzkind`)
    .replaceAll("Zzkind", kind)
    .replaceAll("zzkinds", plural);
}
