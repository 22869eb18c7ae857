/** The part of an OpenAPI v3 document that is read here. */
export interface OpenApiSchema {
  type?: string;
  format?: string;
  description?: string;
  properties?: Record<string, OpenApiSchema>;
  required?: string[];
  additionalProperties?: OpenApiSchema;
  items?: OpenApiSchema;
  default?: unknown;
  enum?: unknown[];
  allOf?: OpenApiSchema[];
  oneOf?: OpenApiSchema[];
  $ref?: string;
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-map-type"?: string;
  "x-kubernetes-patch-strategy"?: string;
  "x-kubernetes-patch-merge-key"?: string;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-group-version-kind"?: GroupVersionKind[];
}

export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

export interface OpenApiDocument {
  openapi: string;
  info: unknown;
  paths: Record<string, unknown>;
  components: { schemas?: Record<string, OpenApiSchema>; securitySchemes?: unknown };
}

/** `io.k8s.api.core.v1.Pod` of `#/components/schemas/io.k8s.api.core.v1.Pod`. */
export function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}
