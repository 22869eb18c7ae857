import type { IPersistentVolumeClaimSpec } from "kubernetes-models/v1/PersistentVolumeClaimSpec";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { type LabelSelector, validateLabelSelector } from "../values/label-selector.ts";
import { dnsLabel, dnsSubdomain } from "../values/name.ts";
import { positiveQuantity } from "../values/quantity.ts";

export type ClaimSpec = Draft<IPersistentVolumeClaimSpec>;
const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
export const volumeModes = ["Block", "Filesystem"];

export function defaultClaimSpec(spec: ClaimSpec | undefined): void {
  if (spec !== undefined) spec.volumeMode ??= "Filesystem";
}

/** What claims may ask for, by themselves and in templates of StatefulSets and pods. */
export function validateClaimSpec(spec: ClaimSpec, path: string): FieldError[] {
  const modes = (spec.accessModes ?? []).map((mode) => mode ?? "");
  const errors: FieldError[] = [];
  if (modes.length === 0) errors.push(required(`${path}.accessModes`, "at least 1 access mode is required"));
  errors.push(...validateLabelSelector(spec.selector as LabelSelector | undefined, `${path}.selector`));
  errors.push(...validateAccessModes(modes, `${path}.accessModes`));
  const storage = spec.resources?.requests?.storage;
  const at = `${path}.resources[storage]`;
  errors.push(...(storage === undefined ? [required(at)] : positiveQuantity(storage, at)));
  const { storageClassName, volumeMode, volumeAttributesClassName } = spec;
  if (storageClassName) errors.push(...validateClassName(storageClassName, `${path}.storageClassName`));
  if (volumeMode !== undefined && !volumeModes.includes(volumeMode)) {
    errors.push(notSupported(`${path}.volumeMode`, volumeMode, volumeModes));
  }
  if (spec.dataSource) errors.push(...validateSource(spec.dataSource, `${path}.dataSource`));
  if (spec.dataSourceRef) errors.push(...validateSource(spec.dataSourceRef, `${path}.dataSourceRef`));
  if (volumeAttributesClassName) {
    errors.push(...validateClassName(volumeAttributesClassName, `${path}.volumeAttributesClassName`));
  }
  return errors;
}

export function validateAccessModes(modes: readonly string[], path: string): FieldError[] {
  const errors = modes
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => notSupported(path, mode, accessModes));
  const others = modes.filter((mode) => accessModes.includes(mode) && mode !== "ReadWriteOncePod");
  if (modes.includes("ReadWriteOncePod") && others.length > 0) {
    errors.push(forbiddenField(path, "may not use ReadWriteOncePod with other access modes"));
  }
  return errors;
}

export function validateClassName(name: string, path: string): FieldError[] {
  return dnsSubdomain(name).map((text) => invalidField(path, name, text));
}

function validateSource(
  source: { name?: string; kind?: string; apiGroup?: string; namespace?: string },
  path: string,
): FieldError[] {
  const { name, kind = "", apiGroup, namespace } = source;
  const errors: FieldError[] = [];
  if (!name) errors.push(required(`${path}.name`));
  if (kind === "") errors.push(required(`${path}.kind`));
  if (!apiGroup && kind !== "PersistentVolumeClaim") {
    const text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    errors.push(invalidField(path, kind, text));
  }
  if (apiGroup) errors.push(...dnsSubdomain(apiGroup).map((text) => invalidField(`${path}.apiGroup`, apiGroup, text)));
  if (namespace) errors.push(...dnsLabel(namespace).map((text) => invalidField(`${path}.namespace`, namespace, text)));
  return errors;
}
