import type { IResourceRequirements } from "kubernetes-models/v1/ResourceRequirements";
import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { dnsLabel } from "../values/name.ts";
import { amountOf } from "../values/quantity.ts";
import {
  isHugePages,
  isOvercommitAllowed,
  validateContainerResourceName,
  validateResourceAmount,
} from "./resource-names.ts";

type Requirements = Draft<IResourceRequirements>;

export function validateResourceRequirements(
  requirements: Requirements | undefined,
  podClaims: readonly string[],
  path: string,
  validateName = validateContainerResourceName,
): FieldError[] {
  const limits = amounts(requirements?.limits);
  const requests = amounts(requirements?.requests);
  const errors: FieldError[] = [];
  for (const [name, quantity] of Object.entries(limits)) {
    const at = `${path}.limits[${name}]`;
    errors.push(...validateName(name, at), ...validateResourceAmount(name, quantity, at));
    errors.push(...validateHugePages(name, quantity, at));
  }
  for (const [name, quantity] of Object.entries(requests)) {
    const at = `${path}.requests[${name}]`;
    errors.push(...validateName(name, at), ...validateResourceAmount(name, quantity, at));
    errors.push(...validateAgainstLimit(name, quantity, limits[name], path));
    errors.push(...validateHugePages(name, quantity, at));
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) {
    errors.push(forbiddenField(path, "HugePages require cpu or memory"));
  }
  return [...errors, ...validateClaims(requirements?.claims ?? [], podClaims, `${path}.claims`)];
}

function amounts(list: Record<string, string | number | undefined> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(list ?? {}).map(([name, quantity]) => [name, String(quantity)]));
}

function validateAgainstLimit(name: string, request: string, limit: string | undefined, path: string): FieldError[] {
  if (limit === undefined) {
    if (isOvercommitAllowed(name)) return [];
    return [required(`${path}.limits`, "Limit must be set for non overcommitable resources")];
  }
  const more = amountOf(request) - amountOf(limit);
  if (more !== 0n && !isOvercommitAllowed(name)) {
    return [invalidField(`${path}.requests`, request, `must be equal to ${name} limit of ${limit}`)];
  }
  if (more <= 0n) return [];
  return [invalidField(`${path}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`)];
}

function validateHugePages(name: string, quantity: string, path: string): FieldError[] {
  if (!isHugePages(name)) return [];
  try {
    const size = amountOf(name.slice("hugepages-".length));
    if (size > 0n && amountOf(quantity) % size === 0n) return [];
  } catch {
    // A size that cannot be read divides nothing.
  }
  const text = `${quantity} is not positive integer multiple of ${name}`;
  return [invalidField(path, quantity, text)];
}

function validateClaims(claims: Requirements["claims"] & object, known: readonly string[], path: string): FieldError[] {
  const seen = new Set<string>();
  return claims.flatMap((claim, i) => {
    const at = `${path}[${i}]`;
    const name = claim?.name ?? "";
    if (name === "") return [required(at)];
    const key = claim?.request ? `${name}/${claim.request}` : name;
    const errors: FieldError[] = [];
    if (claim?.request) {
      errors.push(...dnsLabel(claim.request).map((text) => invalidField(`${at}.request`, claim.request, text)));
    }
    if (seen.has(name) || seen.has(key)) errors.push(duplicate(at, seen.has(name) ? name : key));
    seen.add(key);
    if (!known.includes(name)) {
      const which = known.length === 0 ? " which is empty" : `: ${[...known].sort().join(", ")}`;
      const detail = `must be one of the names in pod.spec.resourceClaims${which}`;
      errors.push({ type: "FieldValueNotFound", field: at, value: name, detail });
    }
    return errors;
  });
}
