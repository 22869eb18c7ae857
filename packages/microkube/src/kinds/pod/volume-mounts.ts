import type { IVolumeDevice } from "kubernetes-models/v1/VolumeDevice";
import type { IVolumeMount } from "kubernetes-models/v1/VolumeMount";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { validateDescendingPath, validateNoBacksteps } from "./file-path.ts";
import type { Volume } from "./volumes.ts";

type Mount = Draft<IVolumeMount>;
type Device = Draft<IVolumeDevice>;

interface Mounting {
  volumeMounts?: Mount[];
  volumeDevices?: Device[];
  securityContext?: { privileged?: boolean };
}

export function validateVolumeMounts(
  { volumeMounts = [], volumeDevices = [], securityContext }: Mounting,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): FieldError[] {
  const targets = new Set<string>();
  return volumeMounts.flatMap((mount, i) => {
    const at = `${path}[${i}]`;
    const { name = "", mountPath = "", subPath, subPathExpr, mountPropagation } = mount;
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(`${at}.name`));
    if (!volumes.has(name)) errors.push({ type: "FieldValueNotFound", field: `${at}.name`, value: name, detail: "" });
    if (mountPath === "") errors.push(required(`${at}.mountPath`));
    if (targets.has(mountPath)) errors.push(invalidField(`${at}.mountPath`, mountPath, "must be unique"));
    targets.add(mountPath);
    if (volumeDevices.some((device) => device.name === name)) {
      errors.push(invalidField(`${at}.name`, name, "must not already exist in volumeDevices"));
    }
    if (volumeDevices.some((device) => device.devicePath === mountPath)) {
      errors.push(invalidField(`${at}.mountPath`, mountPath, "must not already exist as a path in volumeDevices"));
    }
    if (subPath) errors.push(...validateDescendingPath(subPath, `${path}.subPath`));
    if (subPathExpr) {
      if (subPath) {
        const text = "subPathExpr and subPath are mutually exclusive";
        errors.push(invalidField(`${at}.subPathExpr`, subPathExpr, text));
      }
      errors.push(...validateDescendingPath(subPathExpr, `${path}.subPathExpr`));
    }
    const privileged = securityContext?.privileged === true;
    errors.push(...validatePropagation(mountPropagation, privileged, `${path}.mountPropagation`));
    return [...errors, ...validateRecursiveReadOnly(mount, `${path}.recursiveReadOnly`)];
  });
}

const propagations = ["Bidirectional", "HostToContainer", "None"];

function validatePropagation(mode: string | undefined, privileged: boolean, path: string): FieldError[] {
  if (mode === undefined) return [];
  const errors = propagations.includes(mode) ? [] : [notSupported(path, mode, propagations)];
  if (mode === "Bidirectional" && !privileged) {
    errors.push(forbiddenField(path, "Bidirectional mount propagation is available only to privileged containers"));
  }
  return errors;
}

function validateRecursiveReadOnly(
  { recursiveReadOnly, readOnly, mountPropagation }: Mount,
  path: string,
): FieldError[] {
  if (recursiveReadOnly === undefined || recursiveReadOnly === "Disabled") return [];
  const kinds = ["Disabled", "Enabled", "IfPossible"];
  if (!kinds.includes(recursiveReadOnly)) return [notSupported(path, recursiveReadOnly, kinds)];
  const errors: FieldError[] = [];
  if (!readOnly) errors.push(forbiddenField(path, "may only be specified when readOnly is true"));
  if (mountPropagation !== undefined && mountPropagation !== "None") {
    errors.push(forbiddenField(path, "may only be specified when mountPropagation is None or not specified"));
  }
  return errors;
}

export function validateVolumeDevices(
  { volumeMounts = [], volumeDevices = [] }: Mounting,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): FieldError[] {
  const names = new Set<string>();
  const paths = new Set<string>();
  return volumeDevices.flatMap(({ name = "", devicePath = "" }, i) => {
    const at = `${path}[${i}]`;
    const errors: FieldError[] = [];
    const volume = volumes.get(name);
    if (name === "") errors.push(required(`${at}.name`));
    if (names.has(name)) errors.push(invalidField(`${at}.name`, name, "must be unique"));
    if (volume === undefined) {
      errors.push({ type: "FieldValueNotFound", field: `${at}.name`, value: name, detail: "" });
    } else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      errors.push(invalidField(`${at}.name`, name, text));
    }
    if (devicePath === "") errors.push(required(`${at}.devicePath`));
    if (paths.has(devicePath)) errors.push(invalidField(`${at}.devicePath`, devicePath, "must be unique"));
    if (validateNoBacksteps(devicePath, "").length > 0) {
      errors.push(invalidField(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    } else paths.add(devicePath);
    if (volumeMounts.some((mount) => mount.name === name)) {
      errors.push(invalidField(`${at}.name`, name, "must not already exist in volumeMounts"));
    }
    if (volumeMounts.some((mount) => mount.mountPath === devicePath)) {
      errors.push(invalidField(`${at}.devicePath`, devicePath, "must not already exist as a path in volumeMounts"));
    }
    if (name !== "") names.add(name);
    return errors;
  });
}
