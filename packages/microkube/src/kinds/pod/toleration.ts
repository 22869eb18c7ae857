import type { IToleration } from "kubernetes-models/v1/Toleration";
import type { FieldError } from "../../field-error.ts";
import { invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { labelValue, validateLabelName } from "../values/label.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function validateTolerations(
  tolerations: readonly Draft<IToleration>[] | undefined,
  path: string,
): FieldError[] {
  return (tolerations ?? []).flatMap((one, i) => validateToleration(one, `${path}[${i}]`));
}

function validateToleration(toleration: Draft<IToleration>, path: string): FieldError[] {
  const { key = "", operator = "", value = "", effect = "", tolerationSeconds } = toleration;
  const errors = key === "" ? [] : validateLabelName(key, `${path}.key`);
  if (key === "" && operator !== "Exists") {
    const text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.push(invalidField(`${path}.operator`, operator, text));
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    const text = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    errors.push(invalidField(`${path}.effect`, effect, text));
  }
  if (operator === "Equal" || operator === "") {
    const texts = labelValue(value);
    if (texts.length > 0) errors.push(invalidField(`${path}.operator`, value, texts.join(";")));
  } else if (operator === "Exists") {
    if (value !== "") {
      errors.push(invalidField(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'"));
    }
  } else {
    const known = operator === "Lt" || operator === "Gt" ? ["Equal", "Exists", "Lt", "Gt"] : ["Equal", "Exists"];
    errors.push(notSupported(`${path}.operator`, operator, known));
  }
  if (effect !== "") errors.push(...validateTaintEffect(effect, `${path}.effect`));
  return errors;
}

export function validateTaintEffect(effect: string, path: string): FieldError[] {
  if (effect === "") return [required(path)];
  return effects.includes(effect) ? [] : [notSupported(path, effect, effects)];
}
