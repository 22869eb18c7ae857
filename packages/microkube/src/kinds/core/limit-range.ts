import type { ILimitRange } from "kubernetes-models/v1/LimitRange";
import type { ILimitRangeItem } from "kubernetes-models/v1/LimitRangeItem";
import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, required } from "../../field-error.ts";
import { type Draft, defineResource } from "../kind.ts";
import { isOvercommitAllowed, validateContainerResourceName, validateResourceName } from "../pod/resource-names.ts";
import { qualifiedName } from "../values/label.ts";
import { amountOf } from "../values/quantity.ts";

type Item = Draft<ILimitRangeItem>;
type Field = "max" | "min" | "default" | "defaultRequest" | "maxLimitRequestRatio";
const types = ["Pod", "Container", "PersistentVolumeClaim"];

export const limitRange = defineResource<ILimitRange>({
  group: "",
  kind: "LimitRange",
  createsOnUpdate: true,
  default(object) {
    for (const item of object.spec?.limits ?? []) if (item.type === "Container") defaultItem(item);
  },
  validate({ spec }) {
    const limits = spec?.limits ?? [];
    return limits.flatMap((item, i) => {
      const at = `spec.limits[${i}]`;
      const errors = validateType(item.type ?? "", `${at}.type`);
      if (limits.slice(0, i).some(({ type }) => type === item.type)) errors.push(duplicate(`${at}.type`, item.type));
      return [...errors, ...validateItem(item, at)];
    });
  },
});

function defaultItem(item: Item): void {
  item.default = { ...item.max, ...item.default };
  item.defaultRequest = { ...item.min, ...item.default, ...item.defaultRequest };
}

function validateType(type: string, path: string): FieldError[] {
  const errors = qualifiedName(type).map((text) => invalidField(path, type, text));
  if (errors.length > 0 || type.includes("/") || types.includes(type)) return errors;
  return [invalidField(path, type, "must be a standard limit type or fully qualified")];
}

function validateItem(item: Item, at: string): FieldError[] {
  const isPod = item.type === "Pod";
  const validateName = isPod || item.type === "Container" ? validateContainerResourceName : validateResourceName;
  const fields: Field[] = ["max", "min", ...(isPod ? [] : (["default", "defaultRequest"] as const))];
  const errors: FieldError[] = [];
  const names = new Set<string>();
  const look = (field: Field) => {
    for (const name of Object.keys(item[field] ?? {})) {
      errors.push(...validateName(name, `${at}.${field}[${name}]`));
      names.add(name);
    }
  };
  for (const field of fields) look(field);
  for (const field of isPod ? (["default", "defaultRequest"] as const) : []) {
    if (Object.keys(item[field] ?? {}).length === 0) continue;
    errors.push(forbiddenField(`${at}.${field}`, "may not be specified when `type` is 'Pod'"));
  }
  const isClaim = item.type === "PersistentVolumeClaim";
  if (isClaim && item.min?.storage === undefined && item.max?.storage === undefined) {
    const text = "either minimum or maximum storage value is required, but neither was provided";
    errors.push(required(`${at}.limits`, text));
  }
  look("maxLimitRequestRatio");
  return [...errors, ...[...names].flatMap((name) => validateAmounts(item, name, at))];
}

function validateAmounts(item: Item, name: string, at: string): FieldError[] {
  const [min, max, limit, request, ratio] = [
    item.min?.[name],
    item.max?.[name],
    item.type === "Pod" ? undefined : item.default?.[name],
    item.type === "Pod" ? undefined : item.defaultRequest?.[name],
    item.maxLimitRequestRatio?.[name],
  ];
  const errors: FieldError[] = [];
  const more = (a: typeof min, b: typeof min) => a !== undefined && b !== undefined && amountOf(a) > amountOf(b);
  const wrong = (field: Field, value: typeof min, detail: string) =>
    errors.push(invalidField(`${at}.${field}[${name}]`, value, detail));
  if (more(min, max)) wrong("min", min, `min value ${min} is greater than max value ${max}`);
  if (more(min, request)) {
    wrong("defaultRequest", request, `min value ${min} is greater than default request value ${request}`);
  }
  if (more(request, max)) {
    wrong("defaultRequest", request, `default request value ${request} is greater than max value ${max}`);
  }
  if (more(request, limit)) {
    wrong("defaultRequest", request, `default request value ${request} is greater than default limit value ${limit}`);
  }
  if (more(min, limit)) wrong("default", min, `min value ${min} is greater than default value ${limit}`);
  if (more(limit, max)) wrong("default", max, `default value ${limit} is greater than max value ${max}`);
  if (ratio !== undefined) {
    if (amountOf(ratio) < amountOf("1")) wrong("maxLimitRequestRatio", ratio, `ratio ${ratio} is less than 1`);
    if (min !== undefined && max !== undefined) {
      const most = Number(amountOf(max)) / Number(amountOf(min));
      if (Number(amountOf(ratio)) / 1e9 > most) {
        wrong("maxLimitRequestRatio", ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`);
      }
    }
  }
  const isFixed = !isOvercommitAllowed(name) && limit !== undefined && request !== undefined;
  if (isFixed && amountOf(limit) !== amountOf(request)) {
    const text = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
    wrong("defaultRequest", request, text);
  }
  return errors;
}
