import type { KubeObject } from "@fjord/base";
import type { JsonSchema } from "./json-schema.ts";

/** A CustomResourceDefinition, as requests fill it in. */
export interface Definition extends KubeObject {
  spec: {
    group: string;
    scope: "Namespaced" | "Cluster";
    names: DefinitionNames;
    versions: DefinitionVersion[];
    conversion?: Conversion;
    preserveUnknownFields?: boolean;
  };
  status?: {
    acceptedNames?: DefinitionNames;
    /** Null at first, as in Kubernetes. */
    conditions?: DefinitionCondition[] | null;
    storedVersions?: string[];
    observedGeneration?: number;
  };
}

export interface DefinitionNames {
  plural: string;
  singular?: string;
  kind: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface DefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: JsonSchema };
  subresources?: {
    status?: object;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  };
  additionalPrinterColumns?: {
    name: string;
    type: string;
    format?: string;
    description?: string;
    priority?: number;
    jsonPath: string;
  }[];
  selectableFields?: { jsonPath: string }[];
}

export interface Conversion {
  strategy: "None" | "Webhook";
  webhook?: { clientConfig?: object; conversionReviewVersions?: string[] };
}

export interface DefinitionCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
}

export const GROUP = "apiextensions.k8s.io";
export const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

/** Best first, as discovery has them: stable before beta before alpha, higher before lower, then the rest by name. */
export function byPriority(a: string, b: string): number {
  const rank = (version: string): [number, number, number] | undefined => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return undefined;
    const stability = match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0;
    return [stability, Number(match[1]), Number(match[3] ?? 0)];
  };
  const [x, y] = [rank(a), rank(b)];
  if (x === undefined || y === undefined)
    return x === undefined && y === undefined ? (a < b ? -1 : a > b ? 1 : 0) : x === undefined ? 1 : -1;
  return y[0] - x[0] || y[1] - x[1] || y[2] - x[2];
}
