import type { KubeObject } from "@fjord/base";
import { type FieldError, invalidField } from "./field-error.ts";
import type { ResourceType } from "./kinds/resource-type.ts";
import { expressionProblem } from "./policies/index.ts";

interface Configuration extends KubeObject {
  readonly webhooks?: readonly { readonly matchConditions?: readonly { readonly expression?: string }[] }[];
}

const kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/** Configurations of webhooks, whose conditions must be such that they can be asked: kinds know nothing of CEL. */
export function withConditionsChecked(type: ResourceType): ResourceType {
  if (!kinds.includes(type.kind)) return type;
  const { strategy } = type;
  return {
    ...type,
    strategy: {
      ...strategy,
      validate: (object) => [...(strategy.validate?.(object) ?? []), ...conditionErrors(object)],
      validateUpdate: (object, old) => [...(strategy.validateUpdate?.(object, old) ?? []), ...conditionErrors(object)],
    },
  };
}

function conditionErrors({ webhooks = [] }: Configuration): FieldError[] {
  return webhooks.flatMap(({ matchConditions = [] }, i) =>
    matchConditions.flatMap(({ expression = "" }, j) => {
      const problem = expression === "" ? undefined : expressionProblem(expression);
      if (problem === undefined) return [];
      const field = `webhooks[${i}].matchConditions[${j}].expression`;
      return [invalidField(field, expression, `compilation failed: ${problem}`)];
    }),
  );
}
