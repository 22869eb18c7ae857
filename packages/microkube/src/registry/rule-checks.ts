import type { KubeObject } from "@fjord/base";
import type { FieldError } from "../field-error.ts";
import { finish } from "../pace.ts";
import type { Operation } from "./operation.ts";

/** What is wrong by now, and what the kind's rules say; these may be many, and others are answered in between. */
export async function withRules(
  { type, pace }: Operation,
  object: KubeObject,
  old: KubeObject | undefined,
  errors: readonly FieldError[],
): Promise<readonly FieldError[]> {
  const steps = type.strategy.checkRules?.(object, old, errors);
  if (steps === undefined) return errors;
  return [...errors, ...(await (pace?.through(steps) ?? finish(steps)))];
}
