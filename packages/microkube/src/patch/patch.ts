import type { KubeObject } from "@fjord/base";
import type { Steps } from "../pace.ts";
import type { Schema } from "../schema/schema.ts";

export type PatchKind = "json" | "merge" | "strategic" | "apply";

/** Who writes, and how: it goes into `managedFields`. */
export interface FieldManager {
  readonly name: string;
  readonly apiVersion: string;
  /** `status`, `scale`; absent for the object itself. */
  readonly subresource?: string;
  /** RFC 3339. */
  readonly time: string;
}

/** What of an object's fields a manager may not come to own by a request: `status` outside of /status, and so on. */
export type ResetFields = readonly (readonly string[])[];

export interface ApplyRequest {
  readonly live: KubeObject | undefined;
  /** The fields that the manager wants, as sent. */
  readonly config: KubeObject;
  readonly schema: Schema;
  readonly manager: FieldManager;
  readonly force: boolean;
  readonly resetFields?: ResetFields;
}

/**
 * The patches, all pure: inputs are not changed. Errors are `StatusError`s as the real server gives them (400 for a
 * patch that cannot be read, 422 for one that does not fit, 409 with causes for conflicts of apply).
 */
export interface Patches {
  json(object: KubeObject, patch: unknown): KubeObject;
  merge(object: KubeObject, patch: unknown): KubeObject;
  strategic(object: KubeObject, patch: unknown, schema: Schema): KubeObject;
  apply(request: ApplyRequest): KubeObject;
  /** `managedFields` after a create or an update (PUT, other patches) turned `old` into `next`. */
  updateManagedFields(
    old: KubeObject | undefined,
    next: KubeObject,
    schema: Schema,
    manager: FieldManager,
    resetFields?: ResetFields,
  ): KubeObject;
  /** Those that may take long, in parts. */
  readonly slowly: {
    json(...of: Parameters<Patches["json"]>): Steps<KubeObject>;
    apply(...of: Parameters<Patches["apply"]>): Steps<KubeObject>;
    updateManagedFields(...of: Parameters<Patches["updateManagedFields"]>): Steps<KubeObject>;
  };
}
