/** A JSON schema as a CustomResourceDefinition has it (`openAPIV3Schema`), or a part of one. */
export type JsonSchema = { readonly [name: string]: unknown };

/** One version of a custom resource, as far as OpenAPI tells of it. */
export interface CustomKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly schema: JsonSchema | undefined;
  /** `spec.preserveUnknownFields` of the definition. */
  readonly preserveUnknownFields: boolean;
  readonly hasStatus: boolean;
  readonly hasScale: boolean;
}

/** `com.example.stable.v1.Foo`. */
export function modelName({ group, version }: CustomKind, kind: string): string {
  return [...group.split(".").reverse(), version, kind].join(".");
}
