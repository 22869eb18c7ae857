/** A structural OpenAPI v3 schema, as far as Fjord's kinds use it. */
export interface StructuralSchema {
  description?: string;
  type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  format?: "date-time" | "int32" | "int64" | "double";
  properties?: Record<string, StructuralSchema>;
  required?: string[];
  additionalProperties?: StructuralSchema;
  items?: StructuralSchema;
  enum?: string[];
  default?: NonNullable<unknown>;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  minimum?: number;
  maximum?: number;
  anyOf?: StructuralSchema[];
  "x-kubernetes-int-or-string"?: true;
  "x-kubernetes-preserve-unknown-fields"?: true;
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-map-type"?: "atomic" | "granular";
  "x-kubernetes-validations"?: ValidationRule[];
}

/** A CEL rule; the message says what is wrong and what would pass. */
export interface ValidationRule {
  rule: string;
  message: string;
  /** The field that the refusal names, relative to where the rule stands. */
  fieldPath?: string;
}
