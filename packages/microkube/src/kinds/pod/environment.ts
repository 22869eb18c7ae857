import type { IEnvFromSource } from "kubernetes-models/v1/EnvFromSource";
import type { IEnvVar } from "kubernetes-models/v1/EnvVar";
import type { FieldError } from "../../field-error.ts";
import { invalidField, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { configMapKey, dnsLabel, dnsSubdomain, environmentName, maskTrailingDash } from "../values/name.ts";
import { environmentFields, validateFieldReference, validateResourceFieldReference } from "./field-reference.ts";
import { validateNoBacksteps } from "./file-path.ts";

export function validateEnvironment(variables: readonly Draft<IEnvVar>[] | undefined, path: string): FieldError[] {
  return (variables ?? []).flatMap((variable, i) => {
    const { name = "" } = variable;
    const at = `${path}[${i}]`;
    const errors =
      name === ""
        ? [required(`${at}.name`)]
        : environmentName(name).map((text) => invalidField(`${at}.name`, name, text));
    return [...errors, ...validateValueFrom(variable, `${at}.valueFrom`)];
  });
}

function validateValueFrom({ value, valueFrom }: Draft<IEnvVar>, path: string): FieldError[] {
  if (valueFrom === undefined) return [];
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom;
  const errors: FieldError[] = [];
  if (fieldRef) errors.push(...validateFieldReference(fieldRef, environmentFields, `${path}.fieldRef`));
  if (resourceFieldRef) {
    errors.push(...validateResourceFieldReference(resourceFieldRef, `${path}.resourceFieldRef`, false));
  }
  if (configMapKeyRef) errors.push(...validateKeyReference(configMapKeyRef, `${path}.configMapKeyRef`));
  if (secretKeyRef) errors.push(...validateKeyReference(secretKeyRef, `${path}.secretKeyRef`));
  if (fileKeyRef) errors.push(...validateFileKeyReference(fileKeyRef, `${path}.fileKeyRef`));
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(Boolean).length;
  if (sources === 0) {
    const names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    errors.push(invalidField(path, "", `must specify one of: ${names}`));
  } else if (value) errors.push(invalidField(path, "", "may not be specified when `value` is not empty"));
  else if (sources > 1) errors.push(invalidField(path, "", "may not have more than one field specified at a time"));
  return errors;
}

function validateKeyReference({ name = "", key = "" }: { name?: string; key?: string }, path: string): FieldError[] {
  const errors = dnsSubdomain(name).map((text) => invalidField(`${path}.name`, name, text));
  if (key === "") return [...errors, required(`${path}.key`)];
  return [...errors, ...configMapKey(key).map((text) => invalidField(`${path}.key`, key, text))];
}

function validateFileKeyReference(
  reference: { key?: string; volumeName?: string; path?: string },
  path: string,
): FieldError[] {
  const { key = "", volumeName = "", path: file = "" } = reference;
  return [
    ...(key === ""
      ? [required(`${path}.key`)]
      : environmentName(key).map((text) => invalidField(`${path}.key`, key, text))),
    ...(volumeName === ""
      ? [required(`${path}.volumeName`)]
      : dnsLabel(volumeName).map((text) => invalidField(`${path}.volumeName`, volumeName, text))),
    ...(file === "" ? [required(`${path}.path`)] : validateNoBacksteps(file, `${path}.path`)),
  ];
}

export function validateEnvironmentFrom(
  sources: readonly Draft<IEnvFromSource>[] | undefined,
  path: string,
): FieldError[] {
  return (sources ?? []).flatMap(({ prefix, configMapRef, secretRef }, i) => {
    const at = `${path}[${i}]`;
    const errors: FieldError[] = [];
    if (prefix) errors.push(...environmentName(prefix).map((text) => invalidField(`${at}.prefix`, prefix, text)));
    if (configMapRef) errors.push(...validateSourceName(configMapRef.name, `${at}.configMapRef.name`));
    if (secretRef) errors.push(...validateSourceName(secretRef.name, `${at}.secretRef.name`));
    if (!configMapRef && !secretRef) {
      errors.push(invalidField(path, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (configMapRef && secretRef) {
      errors.push(invalidField(path, "", "may not have more than one field specified at a time"));
    }
    return errors;
  });
}

function validateSourceName(name: string | undefined, path: string): FieldError[] {
  if (!name) return [required(path)];
  return dnsSubdomain(maskTrailingDash(name)).map((text) => invalidField(path, name, text));
}
