import type { KubeObject, ObjectMeta } from "@fjord/base";
import type { FieldError } from "../field-error.ts";
import { forbiddenField, invalidField, required } from "../field-error.ts";
import { immutable } from "./values/equality.ts";
import { qualifiedName, validateLabels } from "./values/label.ts";
import { dnsLabel, dnsSubdomain, maskTrailingDash, type NameRule } from "./values/name.ts";
import { nonNegative } from "./values/number.ts";

const annotationBytes = 256 * 1024;

/** What the rules of metadata need to know of a resource. */
export interface NamedResource {
  readonly namespaced: boolean;
  readonly nameRule?: NameRule;
}

/** All that is wrong with the metadata of a new object, whose name is already made. */
export function validateObjectMeta(object: KubeObject, type: NamedResource, path = "metadata"): FieldError[] {
  const meta = object.metadata;
  const rule = type.nameRule ?? dnsSubdomain;
  const errors: FieldError[] = [];
  if (meta.generateName) {
    const texts = rule(maskTrailingDash(meta.generateName));
    errors.push(...texts.map((text) => invalidField(`${path}.generateName`, meta.generateName, text)));
  }
  if (meta.name) errors.push(...rule(meta.name).map((text) => invalidField(`${path}.name`, meta.name, text)));
  else errors.push(required(`${path}.name`, "name or generateName is required"));
  errors.push(...validateNamespace(meta, type.namespaced, path));
  errors.push(...nonNegative(meta.generation, `${path}.generation`));
  errors.push(...validateLabels(meta.labels, `${path}.labels`));
  errors.push(...validateAnnotations(meta.annotations, `${path}.annotations`));
  errors.push(...validateOwnerReferences(meta.ownerReferences, `${path}.ownerReferences`));
  errors.push(...validateFinalizers(meta.finalizers, `${path}.finalizers`));
  errors.push(...validateManagedFields(meta.managedFields, `${path}.managedFields`));
  return errors;
}

function validateNamespace({ namespace }: ObjectMeta, namespaced: boolean, path: string): FieldError[] {
  if (!namespaced) return namespace ? [forbiddenField(`${path}.namespace`, "not allowed on this type")] : [];
  if (!namespace) return [required(`${path}.namespace`)];
  return dnsLabel(namespace).map((text) => invalidField(`${path}.namespace`, namespace, text));
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [name, value] of Object.entries(annotations ?? {})) {
    errors.push(...qualifiedName(name.toLowerCase()).map((text) => invalidField(path, name, text)));
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  if (bytes > annotationBytes) errors.push(tooLong(path, annotationBytes));
  return errors;
}

export function tooLong(field: string, bytes: number, unit = "bytes"): FieldError {
  return { type: "FieldValueTooLong", field, detail: `may not be more than ${bytes} ${unit}` };
}

export function tooMany(field: string, actual: number, most: number): FieldError {
  const detail = `must have at most ${most} item${most === 1 ? "" : "s"}`;
  return { type: "FieldValueTooMany", field, value: actual, detail };
}

function validateOwnerReferences(owners: ObjectMeta["ownerReferences"], path: string): FieldError[] {
  const errors: FieldError[] = [];
  let first = "";
  for (const owner of owners ?? []) {
    const { apiVersion = "", kind = "", name = "", uid = "" } = owner;
    const version = apiVersion.includes("/") ? apiVersion.slice(apiVersion.indexOf("/") + 1) : apiVersion;
    if (version === "") errors.push(invalidField(`${path}.apiVersion`, apiVersion, "version must not be empty"));
    if (kind === "") errors.push(invalidField(`${path}.kind`, kind, "must not be empty"));
    if (name === "") errors.push(invalidField(`${path}.name`, name, "must not be empty"));
    if (uid === "") errors.push(invalidField(`${path}.uid`, uid, "must not be empty"));
    if (apiVersion === "v1" && kind === "Event") {
      errors.push(invalidField(path, owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
    if (owner.controller !== true) continue;
    if (first !== "") {
      const text = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${kind}/${name}`;
      errors.push(invalidField(path, owners, text));
    } else first = `${kind}/${name}`;
  }
  return errors;
}

/** Without a domain these alone are known; the real server asks so of its own kinds, not of custom ones. */
const plainFinalizers = new Set(["foregroundDeletion", "orphan", "kubernetes"]);

function validateFinalizers(finalizers: readonly string[] | undefined, path: string): FieldError[] {
  if (finalizers === undefined) return [];
  const errors = finalizers.flatMap((one) => qualifiedName(one).map((text) => invalidField(path, one, text)));
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const text = "finalizer orphan and foregroundDeletion cannot be both set";
    errors.push(invalidField(path, finalizers, text));
  }
  return errors;
}

/** What built-in kinds ask of finalizers beyond the rest: a domain, or one of the known names. */
export function validateKubeFinalizers(finalizers: readonly string[] | undefined, path: string): FieldError[] {
  return (finalizers ?? []).flatMap((one, i) => validateKubeFinalizer(one, `${path}[${i}]`));
}

export function validateKubeFinalizer(finalizer: string, path: string): FieldError[] {
  if (finalizer.includes("/") || plainFinalizers.has(finalizer)) return [];
  return [invalidField(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")];
}

function validateManagedFields(managed: readonly unknown[] | undefined, path: string): FieldError[] {
  return (managed ?? []).flatMap((one, i) => {
    const { operation, fieldsType, manager } = one as { operation?: string; fieldsType?: string; manager?: string };
    const errors: FieldError[] = [];
    if (operation !== "Apply" && operation !== "Update") {
      errors.push(invalidField(`${path}[${i}].operation`, operation ?? "", "must be `Apply` or `Update`"));
    }
    if (fieldsType !== undefined && fieldsType !== "" && fieldsType !== "FieldsV1") {
      errors.push(invalidField(`${path}[${i}].fieldsType`, fieldsType, "must be `FieldsV1`"));
    }
    if ((manager ?? "").length > 128) errors.push(tooLong(`${path}[${i}].manager`, 128));
    return errors;
  });
}

/** All that is wrong with changed metadata. The registry has filled in what a writer may leave out. */
export function validateObjectMetaUpdate(object: KubeObject, before: KubeObject, path = "metadata"): FieldError[] {
  const meta = object.metadata;
  const old = before.metadata;
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const extra = (meta.finalizers ?? []).filter((one) => !(old.finalizers ?? []).includes(one)).sort();
    if (extra.length > 0) {
      const found = `[]string{${extra.map((one) => JSON.stringify(one)).join(", ")}}`;
      const text = `no new finalizers can be added if the object is being deleted, found new finalizers ${found}`;
      errors.push(forbiddenField(`${path}.finalizers`, text));
    }
  }
  if (!meta.resourceVersion) {
    errors.push(invalidField(`${path}.resourceVersion`, "", "must be specified for an update"));
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalidField(`${path}.generation`, meta.generation ?? 0, "must not be decremented"));
  }
  for (const field of kept) errors.push(...immutable(meta[field], old[field], `${path}.${field}`));
  errors.push(...validateLabels(meta.labels, `${path}.labels`));
  errors.push(...validateAnnotations(meta.annotations, `${path}.annotations`));
  errors.push(...validateOwnerReferences(meta.ownerReferences, `${path}.ownerReferences`));
  errors.push(...validateManagedFields(meta.managedFields, `${path}.managedFields`));
  return errors;
}

const kept = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;
