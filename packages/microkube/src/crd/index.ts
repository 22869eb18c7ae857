export { convertByName } from "./conversion.ts";
export { type CustomTypeMeans, customType } from "./custom-type.ts";
export * from "./definition.ts";
export { DefinitionKeeper, type DefinitionKeeperOptions } from "./definition-keeper.ts";
export { defaultDefinition, validateDefinition, validateDefinitionUpdate } from "./definition-strategy.ts";
export { definitionType } from "./definition-type.ts";
export type { JsonSchema } from "./json-schema.ts";
export { conversionBy, type PostReview } from "./webhook-conversion.ts";
