import type { ISecret } from "kubernetes-models/v1/Secret";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, required } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { tooLong } from "../object-meta.ts";
import { immutable, sameMeaning } from "../values/equality.ts";
import { configMapKey } from "../values/name.ts";
import { decodedLength, frozenText, largestData } from "./config-map.ts";

type Secret = DraftObject<ISecret>;

export const secret = defineResource<ISecret>({
  group: "",
  kind: "Secret",
  default(object) {
    object.type ||= "Opaque";
    takeStringData(object);
  },
  prepareUpdate(object, old) {
    if (old.type !== undefined) object.type ||= old.type;
  },
  validate,
  validateUpdate: (object, old) => [
    ...immutable(object.type, old.type, "type"),
    ...validateFrozen(object, old),
    ...validate(object),
  ],
  selectableFields: { type: ({ type }) => type ?? "" },
  columns: columnsOf<ISecret>(
    text("Type", ({ type }) => type ?? ""),
    text("Data", ({ data }) => Object.keys(data ?? {}).length),
  ),
});

/** `stringData` is for writing only: it goes into `data`. */
function takeStringData(object: Secret): void {
  const texts = Object.entries(object.stringData ?? {});
  delete object.stringData;
  if (texts.length === 0) return;
  object.data ??= {};
  for (const [key, text] of texts) object.data[key] = Buffer.from(text ?? "").toString("base64");
}

function validate(object: Secret): FieldError[] {
  const data = object.data ?? {};
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    errors.push(...configMapKey(key).map((text) => invalidField(`data[${key}]`, key, text)));
    bytes += decodedLength(value ?? "");
  }
  if (bytes > largestData) errors.push(tooLong("data", largestData));
  return [...errors, ...validateType(object, data)];
}

function validateType({ type, metadata }: Secret, data: Record<string, string | undefined>): FieldError[] {
  const missing = (...keys: string[]) =>
    keys.filter((key) => data[key] === undefined).map((key) => required(`data[${key}]`));
  if (type === "kubernetes.io/service-account-token") {
    const annotation = "kubernetes.io/service-account.name";
    return metadata.annotations?.[annotation] ? [] : [required(`metadata.annotations[${annotation}]`)];
  }
  if (type === "kubernetes.io/dockercfg") return validateJson(data, ".dockercfg");
  if (type === "kubernetes.io/dockerconfigjson") return validateJson(data, ".dockerconfigjson");
  if (type === "kubernetes.io/basic-auth") {
    const errors = missing("username", "password");
    return errors.length === 2 ? errors : [];
  }
  if (type === "kubernetes.io/ssh-auth") return data["ssh-privatekey"] ? [] : [required("data[ssh-privatekey]")];
  return type === "kubernetes.io/tls" ? missing("tls.crt", "tls.key") : [];
}

function validateJson(data: Record<string, string | undefined>, key: string): FieldError[] {
  const value = data[key];
  if (value === undefined) return [required(`data[${key}]`)];
  const text = Buffer.from(value, "base64").toString();
  try {
    JSON.parse(text);
    return [];
  } catch {
    return [invalidField(`data[${key}]`, "<secret contents redacted>", jsonErrorText(text))];
  }
}

/** In the words of Go's parser, for what it says most. */
function jsonErrorText(text: string): string {
  const first = text.trimStart()[0];
  if (first === undefined) return "unexpected end of JSON input";
  if (!'{["-0123456789tfn'.includes(first)) {
    return `invalid character '${first}' looking for beginning of value`;
  }
  return "unexpected end of JSON input";
}

function validateFrozen(object: Secret, old: Secret): FieldError[] {
  if (old.immutable !== true) return [];
  const errors: FieldError[] = [];
  if (object.immutable !== true) errors.push(forbiddenField("immutable", frozenText));
  if (!sameMeaning(object.data, old.data)) errors.push(forbiddenField("data", frozenText));
  return errors;
}
