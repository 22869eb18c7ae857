import type { Condition } from "@fjord/base";
import { array, type ConditionCatalogue, enumeration, integer, object, Schema, string, time } from "./schema/index.ts";

type ReasonOf<Catalogue extends ConditionCatalogue, Type extends keyof Catalogue> = Extract<
  keyof Catalogue[Type]["reasons"],
  string
>;

/** A condition of one of the types that the catalogue lists, with one of the reasons of that type. */
export type ConditionFrom<Catalogue extends ConditionCatalogue> = {
  [Type in keyof Catalogue]: Condition & { type: Type; reason: ReasonOf<Catalogue, Type> };
}[keyof Catalogue];

/**
 * The standard conditions list. The server takes any well-formed type and reason, so that agents of different versions
 * can share an object; the compiler and the reference know the ones listed here.
 */
export function conditions<const Catalogue extends ConditionCatalogue>(
  catalogue: Catalogue,
): Schema<ConditionFrom<Catalogue>[], ConditionFrom<Catalogue>[], "optional"> {
  const list = array(condition, { maxItems: 16, keys: ["type"] })
    .describe(`What is known of the state: ${Object.keys(catalogue).join(", ")}.`)
    .optional();
  return new Schema({ ...list.parts, typeName: "conditions", children: {}, conditions: catalogue }, "optional");
}

const condition = object({
  type: string({ minLength: 1, maxLength: 316, pattern: "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$" }).describe(
    "What is told: a word in CamelCase.",
  ),
  status: enumeration({ True: "it holds.", False: "it does not hold.", Unknown: "it is not known." }).describe(
    "Whether it holds.",
  ),
  reason: string({ minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }).describe(
    "Why, in one CamelCase word.",
  ),
  message: string({ maxLength: 32768 }).describe("Why, for people."),
  lastTransitionTime: time().describe("When the status changed last."),
  observedGeneration: integer({ minimum: 0 })
    .optional()
    .describe("The metadata.generation that the agent looked at; older than the current one means out of date."),
});
