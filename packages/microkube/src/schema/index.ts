export { type BuiltInResource, type BuiltInSubresource, builtInResources } from "./built-in-resources.ts";
export { builtInSchemas } from "./built-in-schemas.ts";
export type { Schema, Schemas } from "./schema.ts";
