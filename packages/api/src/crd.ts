import { category } from "./group.ts";
import type { FjordKind, PrinterColumn } from "./kind.ts";
import type { StructuralSchema } from "./schema/index.ts";

export interface CustomResourceDefinition {
  apiVersion: "apiextensions.k8s.io/v1";
  kind: "CustomResourceDefinition";
  metadata: { name: string; labels: Record<string, string> };
  spec: {
    group: string;
    names: {
      kind: string;
      listKind: string;
      plural: string;
      singular: string;
      shortNames: string[];
      categories: string[];
    };
    scope: "Namespaced" | "Cluster";
    versions: CustomResourceDefinitionVersion[];
  };
}

export interface CustomResourceDefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  subresources: { status: Record<string, never> };
  additionalPrinterColumns: CustomResourceColumn[];
  schema: { openAPIV3Schema: StructuralSchema };
}

export interface CustomResourceColumn {
  name: string;
  jsonPath: string;
  type: string;
  description: string;
  priority?: number;
}

/** The manifest that teaches an API server a kind. */
export function customResourceDefinition(kind: FjordKind): CustomResourceDefinition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}`, labels: { "app.kubernetes.io/part-of": "fjord" } },
    spec: {
      group: kind.group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        shortNames: [...kind.shortNames],
        categories: [category],
      },
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [...kind.columns, age].map(printerColumn),
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

const age: PrinterColumn = {
  name: "Age",
  path: ".metadata.creationTimestamp",
  type: "date",
  description: "How long ago it was made.",
};

function printerColumn(column: PrinterColumn): CustomResourceColumn {
  const { name, path, type = "string", wide = false, description } = column;
  return { name, jsonPath: path, type, description, ...(wide ? { priority: 1 } : {}) };
}

function rootSchema(kind: FjordKind): StructuralSchema {
  const { spec, status, rules = [] } = kind;
  return {
    description: kind.purpose,
    type: "object",
    properties: {
      apiVersion: { type: "string", description: "The group and version of the kind." },
      kind: { type: "string", description: "The name of the kind." },
      // Named so that rules can point at it.
      metadata: { type: "object", properties: { name: { type: "string" } } },
      spec: spec.node,
      status: status.node,
    },
    ...(spec.presence === "required" ? { required: ["spec"] } : {}),
    ...(rules.length > 0 ? { "x-kubernetes-validations": [...rules] } : {}),
  };
}
