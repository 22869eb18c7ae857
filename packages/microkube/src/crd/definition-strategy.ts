import type { KubeObject } from "@fjord/base";
import { type FieldError, invalidField, notSupported, required } from "../field-error.ts";
import { dnsLabel, dnsSubdomain } from "../kinds/values/name.ts";
import { ruleProblems } from "./cel-rules.ts";
import type { Definition, DefinitionNames, DefinitionVersion } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";
import { selectableFieldErrors } from "./selectable-fields.ts";
import { structuralProblems } from "./structural.ts";

/** What code fills in of a definition. */
export function defaultDefinition(object: KubeObject): void {
  const { spec } = object as Definition;
  if (spec === undefined) return;
  spec.scope ??= "Namespaced";
  spec.conversion ??= { strategy: "None" };
  if (spec.names !== undefined) {
    spec.names.singular ||= spec.names.kind?.toLowerCase() ?? "";
    spec.names.listKind ||= `${spec.names.kind ?? ""}List`;
  }
}

/** All that is wrong with a definition, beyond its metadata. */
export function validateDefinition(object: KubeObject): FieldError[] {
  const { spec, metadata } = object as Definition;
  if (spec === undefined) return [required("spec")];
  const errors: FieldError[] = [];
  const wanted = `${spec.names?.plural ?? ""}.${spec.group ?? ""}`;
  if (metadata.name !== wanted) {
    errors.push(invalidField("metadata.name", metadata.name ?? "", 'must be spec.names.plural+"."+spec.group'));
  }
  if (!spec.group) errors.push(required("spec.group"));
  else errors.push(...dnsSubdomain(spec.group).map((text) => invalidField("spec.group", spec.group, text)));
  if (spec.group && !spec.group.includes(".")) {
    errors.push(invalidField("spec.group", spec.group, "should be a domain with at least one dot"));
  }
  if (!["Cluster", "Namespaced"].includes(spec.scope)) {
    errors.push(notSupported("spec.scope", spec.scope ?? "", ["Cluster", "Namespaced"]));
  }
  errors.push(...nameErrors(spec.names ?? ({} as DefinitionNames), "spec.names"));
  errors.push(...versionErrors(spec.versions ?? []), ...selectableFieldErrors(spec.versions ?? []));
  if (spec.preserveUnknownFields === true) {
    const detail =
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    errors.push(invalidField("spec.preserveUnknownFields", true, detail));
  }
  return errors;
}

export function validateDefinitionUpdate(object: KubeObject, old: KubeObject): FieldError[] {
  const errors = validateDefinition(object);
  const { spec, status } = object as Definition;
  const { spec: before, status: statusBefore } = old as Definition;
  // Of what is missing nothing can be compared.
  if (spec?.names === undefined || spec.versions === undefined) return errors;
  const immutable = (field: string, value: unknown, earlier: unknown) => {
    if (value !== earlier) errors.push(invalidField(field, value, "field is immutable"));
  };
  const established = statusBefore?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True");
  immutable("spec.group", spec.group, before.group);
  immutable("spec.names.plural", spec.names.plural, before.names.plural);
  if (established) {
    immutable("spec.scope", spec.scope, before.scope);
    immutable("spec.names.kind", spec.names.kind, before.names.kind);
  }
  for (const [index, stored] of (status?.storedVersions ?? []).entries()) {
    if (spec.versions.some(({ name }) => name === stored)) continue;
    const detail = `missing from spec.versions; ${stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`;
    errors.push(invalidField(`status.storedVersions[${index}]`, stored, detail));
  }
  return errors;
}

function nameErrors(names: DefinitionNames, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const label = (field: string, value: string | undefined, text = value) => {
    if (value === undefined || value === "") errors.push(required(`${path}.${field}`));
    else errors.push(...dnsLabel(text ?? "").map((why) => invalidField(`${path}.${field}`, value, why)));
  };
  label("plural", names.plural);
  label("singular", names.singular);
  label("kind", names.kind, names.kind?.toLowerCase());
  label("listKind", names.listKind, names.listKind?.toLowerCase());
  if (names.kind !== undefined && names.kind === names.listKind) {
    errors.push(invalidField(`${path}.listKind`, names.listKind, "kind and listKind may not be the same"));
  }
  return errors;
}

function versionErrors(versions: readonly DefinitionVersion[]): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const path = `spec.versions[${index}]`;
    errors.push(...dnsLabel(version.name ?? "").map((why) => invalidField(`${path}.name`, version.name, why)));
    if (seen.has(version.name)) {
      errors.push(
        invalidField(
          "spec.versions",
          versions.map(({ name }) => name),
          "must contain unique version names",
        ),
      );
    }
    seen.add(version.name);
    const schema = version.schema?.openAPIV3Schema;
    // What all versions have in common is told of in the words of the first form that definitions had.
    const at = versions.length === 1 ? "spec.validation.openAPIV3Schema" : `${path}.schema.openAPIV3Schema`;
    if (schema === undefined) errors.push(required(`${path}.schema.openAPIV3Schema`));
    else {
      if (schema.type && schema.type !== "object" && version.subresources?.status !== undefined) {
        const detail =
          'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
        errors.push(invalidField(`${at}.type`, schema.type, detail));
      }
      errors.push(...schemaErrors(schema, at));
    }
  }
  const stored = versions.filter(({ storage }) => storage).length;
  if (stored !== 1) {
    errors.push(
      invalidField(
        "spec.versions",
        versions.map(({ name }) => name),
        "must have exactly one version marked as storage version",
      ),
    );
  }
  return errors;
}

function schemaErrors(schema: JsonSchema, path: string): FieldError[] {
  const problems = structuralProblems(schema, path);
  if (problems.length > 0) return problems;
  return ruleProblems(schema, path).map(({ path: at, rule, message }) =>
    at.endsWith(".rule")
      ? invalidField(at, { ...rule }, `compilation failed: ${message}`)
      : invalidField(at, { ...rule }, `messageExpression compilation failed: ${message}`),
  );
}
