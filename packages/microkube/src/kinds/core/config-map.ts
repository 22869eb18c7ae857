import type { IConfigMap } from "kubernetes-models/v1/ConfigMap";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { tooLong } from "../object-meta.ts";
import { sameMeaning } from "../values/equality.ts";
import { bytesOf, configMapKey } from "../values/name.ts";

/** The most that the values of a ConfigMap or a Secret may have together. */
export const largestData = 1024 * 1024;
export const frozenText = "field is immutable when `immutable` is set";
type ConfigMap = DraftObject<IConfigMap>;

export const configMap = defineResource<IConfigMap>({
  group: "",
  kind: "ConfigMap",
  validate,
  validateUpdate: (object, old) => [...validateFrozen(object, old), ...validate(object)],
  columns: columnsOf<IConfigMap>(
    text("Data", ({ data, binaryData }) => Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length),
  ),
});

/** More than anybody is told. */
const MOST_TOLD = 1_000;

function validate({ data = {}, binaryData = {} }: ConfigMap): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    if (errors.length > MOST_TOLD) return errors;
    errors.push(...configMapKey(key).map((text) => invalidField(`data[${key}]`, key, text)));
    if (Object.hasOwn(binaryData, key)) {
      errors.push(invalidField(`data[${key}]`, key, "duplicate of key present in binaryData"));
    }
    bytes += bytesOf(value ?? "");
  }
  for (const [key, value] of Object.entries(binaryData)) {
    errors.push(...configMapKey(key).map((text) => invalidField(`binaryData[${key}]`, key, text)));
    bytes += decodedLength(value ?? "");
  }
  if (bytes > largestData) errors.push(tooLong("", largestData));
  return errors;
}

function validateFrozen(object: ConfigMap, old: ConfigMap): FieldError[] {
  if (old.immutable !== true) return [];
  const errors: FieldError[] = [];
  if (object.immutable !== true) errors.push(forbiddenField("immutable", frozenText));
  if (!sameMeaning(object.data, old.data)) errors.push(forbiddenField("data", frozenText));
  if (!sameMeaning(object.binaryData, old.binaryData)) errors.push(forbiddenField("binaryData", frozenText));
  return errors;
}

/** How many bytes a text in base64 stands for. */
export function decodedLength(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
}
