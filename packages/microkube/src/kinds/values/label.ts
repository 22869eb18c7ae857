import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { bytesOf, dnsSubdomain, type NameRule, patternText } from "./name.ts";

const key = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const keyPattern = new RegExp(`^${key}$`);
const value = `(${key})?`;
const valuePattern = new RegExp(`^${value}$`);
const keyText = patternText(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  key,
  "MyName",
  "my.name",
  "123-abc",
);

/** A label's key, a finalizer's name, a resource's name: `example.com/name` or `name`. */
export const qualifiedName: NameRule = (text) => {
  const parts = text.split("/");
  if (parts.length > 2) {
    return [`a valid label key ${keyText} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const name = parts.at(-1) ?? "";
  const texts: string[] = [];
  if (parts.length === 2) texts.push(...prefixTexts(parts[0] ?? ""));
  if (name === "") texts.push("name part must be non-empty");
  else if (bytesOf(name) > 63) texts.push("name part must be no more than 63 bytes");
  if (!keyPattern.test(name)) texts.push(`name part ${keyText}`);
  return texts;
};

function prefixTexts(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  return dnsSubdomain(prefix).map((text) => `prefix part ${text.replace(/characters$/, "bytes")}`);
}

export const labelValue: NameRule = (text) => {
  const texts: string[] = [];
  if (bytesOf(text) > 63) texts.push("must be no more than 63 bytes");
  if (!valuePattern.test(text)) {
    texts.push(
      patternText(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        value,
        "MyValue",
        "my_value",
        "12345",
      ),
    );
  }
  return texts;
};

export function validateLabelName(name: string, path: string): FieldError[] {
  return qualifiedName(name).map((text) => invalidField(path, name, text));
}

export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: string): FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([name, content]) => [
    ...validateLabelName(name, path),
    ...labelValue(content).map((text) => invalidField(path, content, text)),
  ]);
}
