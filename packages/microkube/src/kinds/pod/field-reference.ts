import type { IObjectFieldSelector } from "kubernetes-models/v1/ObjectFieldSelector";
import type { IResourceFieldSelector } from "kubernetes-models/v1/ResourceFieldSelector";
import type { FieldError } from "../../field-error.ts";
import { invalidField, notSupported, required } from "../../field-error.ts";
import { canonicalQuantity } from "../../schema/quantity.ts";
import type { Draft } from "../kind.ts";
import { qualifiedName } from "../values/label.ts";
import { amountOf } from "../values/quantity.ts";

/** Fields of the pod that its environment may have. */
export const environmentFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
/** Fields of the pod that its files may have. */
export const volumeFields = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];
const known = new Set([
  ...environmentFields,
  ...volumeFields,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);
const resources = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const byteDivisors = ["1", ..."kMGTPE".split("").map((unit) => `1${unit}`), ..."KMGTPE".split("").map((u) => `1${u}i`)];
const byteDivisorText =
  "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the";

export function validateFieldReference(
  reference: Draft<IObjectFieldSelector>,
  allowed: readonly string[],
  path: string,
): FieldError[] {
  const { apiVersion, fieldPath } = reference;
  if (!apiVersion) return [required(`${path}.apiVersion`)];
  if (!fieldPath) return [required(`${path}.fieldPath`)];
  const wrong = (text: string) => [invalidField(`${path}.fieldPath`, fieldPath, `error converting fieldPath: ${text}`)];
  if (apiVersion !== "v1") return wrong(`unsupported pod version: ${apiVersion}`);
  const [, base, key] = /^([^[\]]+)\['([^[\]]*)'\]$/.exec(fieldPath) ?? [];
  if (base !== undefined && key !== undefined) {
    if (base === "metadata.annotations") return validateKey(key.toLowerCase(), path);
    if (base === "metadata.labels") return validateKey(key, path);
    return wrong(`field label does not support subscript: ${fieldPath}`);
  }
  const field = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
  if (!known.has(field)) return wrong(`field label not supported: ${fieldPath}`);
  return allowed.includes(field) ? [] : [notSupported(`${path}.fieldPath`, field, allowed)];
}

function validateKey(key: string, path: string): FieldError[] {
  return qualifiedName(key).map((text) => invalidField(path, key, text));
}

export function validateResourceFieldReference(
  reference: Draft<IResourceFieldSelector>,
  path: string,
  isVolume: boolean,
): FieldError[] {
  const { containerName, resource = "", divisor } = reference;
  const errors: FieldError[] = [];
  const isHugePages = /^(limits|requests)\.hugepages-/.test(resource);
  if (isVolume && !containerName) errors.push(required(`${path}.containerName`));
  else if (resource === "") errors.push(required(`${path}.resource`));
  else if (!resources.includes(resource) && !isHugePages) {
    errors.push(notSupported(`${path}.resource`, resource, resources));
  }
  return [...errors, ...validateDivisor(resource, divisor, `${path}.divisor`)];
}

function validateDivisor(resource: string, divisor: string | number | undefined, path: string): FieldError[] {
  if (divisor === undefined || amountOf(divisor) === 0n) return [];
  const text = canonicalQuantity(String(divisor));
  const what = resource.slice(resource.indexOf(".") + 1);
  if (what === "cpu") {
    if (text === "1" || text === "1m") return [];
    return [invalidField(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")];
  }
  const name = { memory: "memory", "ephemeral-storage": "local ephemeral storage" }[what];
  const counted = name ?? (what.startsWith("hugepages-") ? "hugepages" : undefined);
  if (counted === undefined || byteDivisors.includes(text)) return [];
  return [invalidField(path, resource, `${byteDivisorText} ${counted} resource`)];
}
