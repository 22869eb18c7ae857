import type { Kind, KubeObject, ObjectMeta } from "@fjord/base";
import { type apiVersion, group, version } from "./group.ts";
import type { AnySchema, InOf, OutOf, Presence, Schema, ValidationRule } from "./schema/index.ts";

export interface PrinterColumn {
  readonly name: string;
  /** Where the value is, in Kubernetes' JSONPath. */
  readonly path: string;
  /** @default "string" */
  readonly type?: "string" | "integer" | "date";
  /** Shown by `kubectl get -o wide` only. */
  readonly wide?: boolean;
  readonly description: string;
}

/** The status of a condition, as a column named after it. */
export function conditionColumn(type: string, description: string): PrinterColumn {
  return { name: type, path: `.status.conditions[?(@.type=="${type}")].status`, description };
}

/** The reason of a condition. */
export function reasonColumn(type: string, description: string): PrinterColumn {
  return { name: "Reason", path: `.status.conditions[?(@.type=="${type}")].reason`, description };
}

interface Definition<Name extends string, Spec extends AnySchema, Status extends AnySchema> {
  readonly kind: Name;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** What it is, in a sentence or two: the first words of `kubectl explain`. */
  readonly purpose: string;
  /** Who writes which part, where. */
  readonly writers: { readonly spec: string; readonly status: string };
  readonly columns: readonly PrinterColumn[];
  readonly spec: Spec;
  readonly status: Status;
  /** Rules over the whole object; the only place where `self.metadata.name` can be seen. */
  readonly rules?: readonly ValidationRule[];
  /** The least that a writer has to give: in the reference, and accepted by every API server in the tests. */
  readonly example: DraftFrom<Spec>;
}

/** A kind with everything that is known of it; for a client, simply a `Kind`. */
export interface FjordKind<
  Name extends string = string,
  Spec extends AnySchema = AnySchema,
  Status extends AnySchema = AnySchema,
> extends Kind<ObjectFrom<Name, Spec, Status>>,
    Definition<Name, Spec, Status> {
  readonly kind: Name;
  readonly plural: string;
  readonly namespaced: boolean;
}

interface ObjectFrom<Name extends string, Spec, Status> extends KubeObject {
  apiVersion: typeof apiVersion;
  kind: Name;
  metadata: ObjectMeta;
  spec: OutOf<Spec>;
  status?: OutOf<Status>;
}

type DraftFrom<Spec> = { metadata: ObjectMeta } & (Spec extends Schema<infer _O, infer In, infer P extends Presence>
  ? P extends "required"
    ? { spec: In }
    : { spec?: In }
  : never);

/** The TypeScript type of a kind's objects as they are read: defaults filled in. */
export type ObjectOf<K> =
  K extends FjordKind<infer Name, infer Spec, infer Status> ? ObjectFrom<Name, Spec, Status> : never;

/** What a writer gives: no apiVersion, no status, and nothing that has a default unless it is to differ. */
export type DraftOf<K> = K extends FjordKind<infer _Name, infer Spec, infer _Status> ? DraftFrom<Spec> : never;

export type SpecOf<K> = K extends FjordKind<infer _Name, infer Spec, infer _Status> ? OutOf<Spec> : never;
export type SpecDraftOf<K> = K extends FjordKind<infer _Name, infer Spec, infer _Status> ? InOf<Spec> : never;
export type StatusOf<K> = K extends FjordKind<infer _Name, infer _Spec, infer Status> ? OutOf<Status> : never;

/** One of the conditions of a kind. */
export type ConditionOf<K> = StatusOf<K> extends { conditions?: (infer C)[] } ? C : never;

export function defineKind<const Name extends string, Spec extends AnySchema, Status extends AnySchema>(
  definition: Definition<Name, Spec, Status>,
): FjordKind<Name, Spec, Status> {
  return { group, version, ...definition };
}
