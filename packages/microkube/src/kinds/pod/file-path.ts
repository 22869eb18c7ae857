import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";

export const fileModeText = "must be a number between 0 and 0777 (octal), both inclusive";

export function validateNoBacksteps(target: string, path: string): FieldError[] {
  return target.split("/").includes("..") ? [invalidField(path, target, "must not contain '..'")] : [];
}

/** A path below the place where it is used. */
export function validateDescendingPath(target: string, path: string): FieldError[] {
  const errors = target.startsWith("/") ? [invalidField(path, target, "must be a relative path")] : [];
  return [...errors, ...validateNoBacksteps(target, path)];
}

/** A file's name in a volume: names that begin with `..` are the kubelet's own. */
export function validateLocalPath(target: string, path: string): FieldError[] {
  const errors = validateDescendingPath(target, path);
  if (target.startsWith("..") && !target.startsWith("../")) {
    errors.push(invalidField(path, target, "must not start with '..'"));
  }
  return errors;
}

export function validateFileMode(mode: number | undefined, path: string): FieldError[] {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return [];
  return [invalidField(path, mode, fileModeText)];
}
