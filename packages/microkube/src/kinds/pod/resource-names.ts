import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { qualifiedName } from "../values/label.ts";
import { isWhole, nonNegativeQuantity } from "../values/quantity.ts";

const containerResources = new Set(["cpu", "memory", "ephemeral-storage"]);
const counted = [
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
];
const computed = ["cpu", "memory", "ephemeral-storage"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);
const quotaResources = new Set([...computed, "requests.storage", ...counted]);
const integerResources = new Set(counted);

export const isHugePages = (name: string): boolean => name.startsWith("hugepages-");
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");
export const isOvercommitAllowed = (name: string): boolean => isNative(name) && !isHugePages(name);
const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith("requests.hugepages-");
export const isStandardQuotaResource = (name: string): boolean => quotaResources.has(name) || isQuotaHugePages(name);

export function isExtendedResource(name: string): boolean {
  if (isNative(name) || name.startsWith("requests.")) return false;
  return qualifiedName(`requests.${name}`).length === 0;
}

export function validateResourceName(name: string, path: string): FieldError[] {
  const errors = qualifiedName(name).map((text) => invalidField(path, name, text));
  if (errors.length > 0 || name.includes("/") || isStandardQuotaResource(name) || name === "storage") return errors;
  return [invalidField(path, name, "must be a standard resource type or fully qualified")];
}

export function validateContainerResourceName(name: string, path: string): FieldError[] {
  const errors = validateResourceName(name, path);
  if (!name.includes("/")) {
    if (containerResources.has(name) || isHugePages(name)) return errors;
    return [...errors, invalidField(path, name, "must be a standard resource for containers")];
  }
  if (isNative(name) || isExtendedResource(name)) return errors;
  return [...errors, invalidField(path, name, "doesn't follow extended resource name standard")];
}

export function validateQuotaResourceName(name: string, path: string): FieldError[] {
  const errors = validateResourceName(name, path);
  if (name.includes("/") || isStandardQuotaResource(name)) return errors;
  return [...errors, invalidField(path, name, "must be a standard resource for quota")];
}

/** An amount of a named resource: not negative, and whole where parts of one make no sense. */
export function validateResourceAmount(name: string, quantity: string, path: string): FieldError[] {
  const errors = nonNegativeQuantity(quantity, path);
  if ((integerResources.has(name) || isExtendedResource(name)) && !isWhole(quantity)) {
    errors.push(invalidField(path, quantity, "must be an integer"));
  }
  return errors;
}
