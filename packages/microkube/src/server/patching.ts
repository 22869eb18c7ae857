import type { KubeObject } from "@fjord/base";
import { Pace } from "../pace.ts";
import type { PatchKind } from "../patch/patch.ts";
import { managerOf, resetFieldsOf } from "../registry/field-ownership.ts";
import type { Operation, Registry } from "../registry/index.ts";
import type { Schema } from "../schema/schema.ts";
import { badRequest, invalid } from "../status-error.ts";
import { contentType, unsupportedMediaType } from "./media-type.ts";
import type { ExpectedObject } from "./request-body.ts";

const kinds: Record<string, PatchKind> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};

/** How a patch is to be taken, by its media type. Throws (415). */
export function patchKindOf(header: string | undefined, isCustom: boolean): PatchKind {
  const kind = kinds[contentType(header)];
  if (kind !== undefined && !(kind === "strategic" && isCustom)) return kind;
  throw unsupportedMediaType(Object.keys(kinds).filter((one) => !isCustom || kinds[one] !== "strategic"));
}

/** What a patch makes of an object; without `old` only apply can make one. */
export async function patched(
  registry: Registry,
  operation: Operation,
  { kind, patch, force }: { kind: PatchKind; patch: unknown; force: boolean },
  old: KubeObject | undefined,
  { expected, schema = {} }: { expected: ExpectedObject; schema: Schema | undefined },
): Promise<KubeObject> {
  const { patches } = registry;
  if (patches === undefined) throw badRequest("patches are not served");
  const { pace = new Pace() } = operation;
  if (kind === "json") return pace.through(patches.slowly.json(old as KubeObject, patch));
  if (kind !== "apply") return patches[kind](old as KubeObject, patch, schema);
  const config = checkedConfig(patch, expected);
  const manager = managerOf(registry, operation);
  const request = { live: old, config, schema, manager, force, resetFields: resetFieldsOf(registry, operation) };
  return pace.through(patches.slowly.apply(request));
}

function checkedConfig(patch: unknown, { group, version, kind }: ExpectedObject): KubeObject {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) {
    throw badRequest("error decoding YAML: json: cannot unmarshal into Go value of type map[string]interface {}");
  }
  const config = patch as KubeObject;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const { metadata } = config;
  if (metadata?.managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  if (!config.apiVersion || !config.kind) {
    throw badRequest(`invalid object type: ${config.apiVersion ?? ""}, Kind=${config.kind ?? ""}`);
  }
  if (config.apiVersion !== apiVersion || config.kind !== kind) {
    throw invalid({ group, kind }, metadata?.name ?? "", [
      { type: "FieldValueInvalid", field: "kind", value: config.kind, detail: `must be ${apiVersion}, Kind=${kind}` },
    ]);
  }
  return config;
}
