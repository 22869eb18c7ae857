import type { IDownwardAPIVolumeFile } from "kubernetes-models/v1/DownwardAPIVolumeFile";
import type { IKeyToPath } from "kubernetes-models/v1/KeyToPath";
import type { IProjectedVolumeSource } from "kubernetes-models/v1/ProjectedVolumeSource";
import type { IVolumeProjection } from "kubernetes-models/v1/VolumeProjection";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { validateFieldReference, validateResourceFieldReference, volumeFields } from "./field-reference.ts";
import { validateFileMode, validateLocalPath } from "./file-path.ts";

export function validateKeyToPath({ key, path: file = "", mode }: Draft<IKeyToPath>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (!key) errors.push(required(`${path}.key`));
  if (file === "") errors.push(required(`${path}.path`));
  return [...errors, ...validateLocalPath(file, `${path}.path`), ...validateFileMode(mode, `${path}.mode`)];
}

export function validateDownwardFile(file: Draft<IDownwardAPIVolumeFile>, path: string): FieldError[] {
  const { path: target = "", fieldRef, resourceFieldRef, mode } = file;
  const errors = target === "" ? [required(`${path}.path`)] : [];
  errors.push(...validateLocalPath(target, `${path}.path`));
  if (fieldRef) {
    errors.push(...validateFieldReference(fieldRef, volumeFields, `${path}.fieldRef`));
    if (resourceFieldRef) {
      const text = "fieldRef and resourceFieldRef can not be specified simultaneously";
      errors.push(invalidField(path, "resource", text));
    }
  } else if (resourceFieldRef) {
    errors.push(...validateResourceFieldReference(resourceFieldRef, `${path}.resourceFieldRef`, true));
  } else errors.push(required(path, "one of fieldRef and resourceFieldRef is required"));
  return [...errors, ...validateFileMode(mode, `${path}.mode`)];
}

/** Several sources in one folder: no two of them may make the same file. */
export function validateProjected(projected: Draft<IProjectedVolumeSource>, path: string): FieldError[] {
  const files = new Set<string>();
  const claim = (file: string | undefined, owner: string): FieldError[] => {
    if (!file) return [];
    if (files.has(file)) return [invalidField(path, owner, "conflicting duplicate paths")];
    files.add(file);
    return [];
  };
  return [
    ...validateFileMode(projected.defaultMode, `${path}.defaultMode`),
    ...(projected.sources ?? []).flatMap((source, i) =>
      validateProjection(source, `${path}.sources[${i}]`, path, claim),
    ),
  ];
}

type Claim = (file: string | undefined, owner: string) => FieldError[];

function validateProjection(source: Draft<IVolumeProjection>, at: string, path: string, claim: Claim): FieldError[] {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  const errors: FieldError[] = [];
  for (const [name, keys] of [
    ["secret", secret],
    ["configMap", configMap],
  ] as const) {
    if (keys === undefined) continue;
    if (!keys.name) errors.push(required(`${at}.${name}.name`));
    for (const [i, item] of (keys.items ?? []).entries()) {
      errors.push(...validateKeyToPath(item, `${at}.${name}.items[${i}]`), ...claim(item.path, keys.name ?? ""));
    }
  }
  for (const file of downwardAPI?.items ?? []) {
    errors.push(...validateDownwardFile(file, `${at}.downwardAPI`), ...claim(file.path, file.path ?? ""));
  }
  if (serviceAccountToken) errors.push(...validateToken(serviceAccountToken, at, path));
  if (clusterTrustBundle) {
    const { name, signerName, path: file = "" } = clusterTrustBundle;
    const bundle = `${at}.clusterTrustBundle`;
    if (name === undefined && signerName === undefined) {
      errors.push(required(bundle, "either name or signerName must be specified"));
    }
    if (file === "") errors.push(required(`${bundle}.path`));
    errors.push(...validateLocalPath(file, `${bundle}.path`), ...claim(file, file));
  }
  const set = Object.values(source).filter((one) => one !== undefined);
  if (set.length > 1) errors.push(forbiddenField(at, "may not specify more than 1 volume type per source"));
  return errors;
}

function validateToken(
  { expirationSeconds = 3600, path: file = "" }: { expirationSeconds?: number; path?: string },
  at: string,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const period = `${at}.serviceAccountToken.expirationSeconds`;
  if (expirationSeconds < 600) {
    errors.push(invalidField(period, expirationSeconds, "may not specify a duration less than 10 minutes"));
  }
  if (expirationSeconds > 2 ** 32) {
    errors.push(invalidField(period, expirationSeconds, "may not specify a duration larger than 2^32 seconds"));
  }
  if (file === "") return [...errors, required(`${path}.path`)];
  return [...errors, ...validateLocalPath(file, `${path}.path`)];
}
