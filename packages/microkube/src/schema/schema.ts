/**
 * A schema as far as the machinery needs it: of built-in kinds from the generated data file, of custom resources from
 * their definition. Compact on purpose: thousands of them are in memory.
 */
export interface Schema {
  /** Of a built-in type: `core.v1.Container`. */
  readonly name?: string;
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean" | "int-or-string" | "any";
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** Of maps. */
  readonly additionalProperties?: Schema;
  /** Of lists. */
  readonly items?: Schema;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  /** x-kubernetes-list-type. */
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  /** x-kubernetes-map-type: atomic. */
  readonly atomic?: boolean;
  /** x-kubernetes-patch-strategy and x-kubernetes-patch-merge-key, for strategic merge patches. */
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  /** Anything may be in it, and is kept: x-kubernetes-preserve-unknown-fields. */
  readonly preserveUnknown?: boolean;
  readonly nullable?: boolean;
  /**
   * What Kubernetes' own types make of a field that is empty (`""`, 0, false, no entries) or not there: they leave it
   * out, write it anyway (`resources: {}`), or write null. Without this it stays as it was sent.
   */
  readonly empty?: "dropped" | "written" | "null";
}

/** Schemas of the built-in kinds, by kind; references are resolved, so equal parts are one object. */
export interface Schemas {
  of(gvk: { group: string; version: string; kind: string }): Schema | undefined;
}
