import type { KubeObject } from "@fjord/base";
import type { Steps } from "../pace.ts";
import { apply, applySteps, updateManagedFields, updateManagedFieldsSteps } from "./field-manager.ts";
import { jsonPatch, jsonPatchSteps } from "./json-patch.ts";
import type { JsonObject } from "./json-value.ts";
import { mergePatch } from "./merge-patch.ts";
import type { Patches } from "./patch.ts";
import { strategicMerge } from "./strategic-merge.ts";

export type { ApplyRequest, FieldManager, Patches, PatchKind, ResetFields } from "./patch.ts";
export { type ReadPatch, readPatch, readPatchSteps } from "./read-patch.ts";
export { resetFieldsFor } from "./reset-fields.ts";

/** The patches, as `readPatch` has read them: what it gives fits here. */
export const patches: Patches = {
  json: (object, patch) => jsonPatch(object, patch as unknown[]) as KubeObject,
  merge: (object, patch) => mergePatch(object, patch) as KubeObject,
  strategic: (object, patch, schema) =>
    strategicMerge(object as unknown as JsonObject, patch as JsonObject, schema) as unknown as KubeObject,
  apply,
  updateManagedFields,
  slowly: {
    json: (object, patch) => jsonPatchSteps(object, patch as unknown[]) as Steps<KubeObject>,
    apply: applySteps,
    updateManagedFields: updateManagedFieldsSteps,
  },
};
