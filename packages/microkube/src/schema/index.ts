export { type ParsedBody, parseJson, parseJsonSteps, parseYaml, parseYamlSteps } from "./body.ts";
export { type BuiltInResource, type BuiltInSubresource, builtInResources } from "./built-in-resources.ts";
export { builtInSchemas } from "./built-in-schemas.ts";
export {
  type Decoded,
  Decoder,
  type DecodeTarget,
  type FieldValidation,
  type GroupVersionKind,
  refusePatched,
} from "./decode.ts";
export { applyDefaults } from "./defaults.ts";
export { settleEmptyFields, withEmptyFieldsSettled } from "./empty-fields.ts";
export { GoTypes } from "./go-types.ts";
export type { CustomKind, JsonSchema } from "./openapi/custom-kind.ts";
export { type OpenApiAnswer, OpenApiDocuments } from "./openapi/documents.ts";
export { canonicalQuantity } from "./quantity.ts";
export type { Schema, Schemas } from "./schema.ts";
export { canonicalMicroTime, canonicalTime } from "./time-text.ts";
export { readTyped, type TypedValue } from "./typed-value.ts";
