interface Version {
  readonly name: string;
  readonly schema: object;
  readonly fields: readonly string[];
}

const text = { type: "string" };
const properties = {
  metadata: { type: "object", properties: { name: text } },
  spec: {
    type: "object",
    properties: {
      color: { ...text, enum: ["red"] },
      size: { type: "integer" },
      ratio: { type: "number" },
      port: { "x-kubernetes-int-or-string": true },
      tags: { type: "array", items: text },
      labels: { type: "object", additionalProperties: text },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  },
};
const schema = { type: "object", properties };
const counts = Array.from({ length: 9 }, (_, n) => `n${n}`);

/** Definitions of resources that are to be selected by fields: by good ones, and by others. */
export const selectableDefinitions: Readonly<Record<string, object>> = {
  "by fields that are good": selectable(".spec.color", ".spec.size", ".spec.labels.any"),
  "by nothing": selectable(""),
  "by what is no path": selectable("spec.color", ".", ".spec.", ".spec..color", ".spec.tags[0]", "'", ".'a.b'", "a'b'"),
  "by what is not there": selectable(".spec.none", ".spec.color.more", ".kind", ".constructor", ".spec.free.any"),
  "by what is no plain value": selectable(".spec", ".spec.tags", ".spec.ratio", ".spec.port", ".spec.labels"),
  "by metadata": selectable(".metadata.name", ".metadata.uid", ".metadata"),
  "by one field twice": selectable(".spec.color", ".spec.size", ".spec.color"),
  "by more fields than there may be": definition([
    {
      name: "v1",
      schema: { type: "object", properties: Object.fromEntries(counts.map((name) => [name, text])) },
      fields: counts.map((name) => `.${name}`),
    },
  ]),
  "alike in all versions": definition([
    { name: "v1", schema, fields: [".spec.color", ".spec.none"] },
    { name: "v2", schema, fields: [".spec.color", ".spec.none"] },
  ]),
  "alike in versions that are not": definition([
    { name: "v1", schema, fields: [".spec.color"] },
    { name: "v2", schema: { ...schema, description: "another" }, fields: [".spec.color"] },
  ]),
  "not alike in versions that are": definition([
    { name: "v1", schema, fields: [".spec.color"] },
    { name: "v2", schema, fields: [".spec.size"] },
  ]),
  "in one of two versions": definition([
    { name: "v1", schema, fields: [".spec.none", ".spec.size"] },
    { name: "v2", schema: { ...schema, description: "another" }, fields: [] },
  ]),
};

function selectable(...fields: string[]): object {
  return definition([{ name: "v1", schema, fields }]);
}

function definition(versions: readonly Version[]): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "sieves.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "sieves", singular: "sieve", kind: "Sieve", listKind: "SieveList" },
      versions: versions.map(({ name, schema: openAPIV3Schema, fields }) => ({
        name,
        served: true,
        storage: name === "v1",
        schema: { openAPIV3Schema },
        ...(fields.length > 0 && { selectableFields: fields.map((jsonPath) => ({ jsonPath })) }),
      })),
    },
  };
}
