import type { KubeObject, ObjectMeta } from "@fjord/base";
import type { FieldError } from "../field-error.ts";
import { describeFieldError } from "../field-error.ts";
import type { BuiltInResource } from "../schema/built-in-resources.ts";
import { settleEmptyFields } from "../schema/empty-fields.ts";
import type { Schemas } from "../schema/schema.ts";
import { plainColumns } from "./columns.ts";
import { validateKubeFinalizers, validateObjectMeta, validateObjectMetaUpdate } from "./object-meta.ts";
import type { Column, ResourceType, RowCondition, Strategy, Subresource, WriteContext } from "./resource-type.ts";
import { sameMeaning } from "./values/equality.ts";
import type { NameRule } from "./values/name.ts";

/** A type of kubernetes-models as requests fill it in: right in its types, but anything may be missing. */
export type Draft<T> = T extends string
  ? string
  : T extends readonly (infer Item)[]
    ? Draft<Item>[]
    : T extends object
      ? { -readonly [Name in keyof T]?: Draft<T[Name]> }
      : T;

/** An object of a kind: metadata is always there. */
export type DraftObject<T> = Omit<Draft<T>, "metadata" | "apiVersion" | "kind"> & {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
};

/** What a kind says of itself; `validate` and its like are called after the metadata's own rules. */
export interface KindDefinition<T = Record<string, unknown>> {
  readonly group: string;
  readonly kind: string;
  readonly nameRule?: NameRule;
  readonly hasStatus?: boolean;
  /** What makes a new generation: a change of the spec, of all but metadata and status, or what is asked here. */
  readonly generation?: "spec" | "content" | ((object: DraftObject<T>, old: DraftObject<T>) => boolean);
  readonly createsOnUpdate?: boolean;
  readonly unconditionalUpdate?: boolean;
  readonly defaultPropagation?: "Background" | "Orphan";
  default?(object: DraftObject<T>): void;
  prepareCreate?(object: DraftObject<T>, request: WriteContext): void | Promise<void>;
  prepareUpdate?(object: DraftObject<T>, old: DraftObject<T>, request: WriteContext): void | Promise<void>;
  validate?(object: DraftObject<T>): FieldError[];
  /** @default what `validate` says */
  validateUpdate?(object: DraftObject<T>, old: DraftObject<T>): FieldError[];
  /** After a write of `/status`. */
  validateStatus?(object: DraftObject<T>, old: DraftObject<T>): FieldError[];
  /** What else a write of `/status` takes over or puts right. */
  prepareStatus?(object: DraftObject<T>, sent: DraftObject<T>): void;
  warnings?(object: DraftObject<T>, old?: DraftObject<T>): string[];
  gracePeriod?(object: DraftObject<T>, asked: number | undefined): number | undefined;
  reserve?: Strategy["reserve"];
  afterDelete?: Strategy["afterDelete"];
  finalizers?: Strategy["finalizers"];
  prepareDelete?: Strategy["prepareDelete"];
  /** Beyond `status`, which every kind with a status has. */
  readonly subresources?: Readonly<Record<string, Subresource>>;
  readonly selectableFields?: Readonly<Record<string, (object: DraftObject<T>) => string>>;
  readonly columns?: readonly KindColumn<T>[];
  readonly rowConditions?: (object: DraftObject<T>) => readonly RowCondition[];
  readonly convert?: ResourceType["convert"];
  readonly storedVersion?: string;
  readonly storedAs?: ResourceType["storedAs"];
  readonly act?: ResourceType["act"];
  readonly compute?: ResourceType["compute"];
}

export type KindColumn<T> = Omit<Column, "value" | "priority"> & {
  readonly priority?: 0 | 1;
  readonly value: (object: DraftObject<T>, now: number) => string | number | boolean | null;
};

/** Keeps a definition's own type while it is written down, and forgets it for those who only pass it on. */
export function defineResource<T>(definition: KindDefinition<T>): KindDefinition {
  return definition as unknown as KindDefinition;
}

/** Puts what discovery, schemas and the definition say into one. */
export function resourceType(
  definition: KindDefinition,
  entries: readonly BuiltInResource[],
  schemas: Schemas,
): ResourceType {
  const preferred = entries[0];
  if (preferred === undefined) throw new TypeError(`no resource of kind ${definition.kind} in ${definition.group}`);
  const { group, kind, plural, singular, namespaced, shortNames, categories, verbs } = preferred;
  const version = definition.storedVersion ?? preferred.version;
  /** The form in which Kubernetes keeps an object: empty fields are there or not as its own types have it. */
  const settle = (object: KubeObject): void => {
    const schema = schemas.of({ group, version, kind });
    if (schema !== undefined) settleEmptyFields(object, schema);
  };
  const { nameRule, convert, storedAs, act, compute, columns = plainColumns, selectableFields } = definition;
  return {
    group,
    version,
    versions: entries.map((entry) => entry.version),
    kind,
    plural,
    singular,
    shortNames,
    categories,
    namespaced,
    verbs,
    schema: (wanted) => schemas.of({ group, version: wanted, kind }),
    strategy: strategyOf(definition, namespaced, settle),
    subresources: subresourcesOf(definition, preferred, settle),
    ...(selectableFields && { selectableFields: selectableFields as ResourceType["selectableFields"] }),
    columns: columns.map((column) => ({ priority: 0, ...column })) as unknown as Column[],
    ...(definition.rowConditions && { rowConditions: definition.rowConditions as ResourceType["rowConditions"] }),
    ...(convert && { convert }),
    ...(nameRule && { nameRule }),
    ...(storedAs && { storedAs }),
    ...(act && { act }),
    ...(compute && { compute }),
  };
}

type AnyDraft = DraftObject<Record<string, unknown>>;

type Settle = (object: KubeObject) => void;

function strategyOf(definition: KindDefinition, namespaced: boolean, settle: Settle): Strategy {
  const { nameRule, hasStatus, createsOnUpdate, unconditionalUpdate, defaultPropagation } = definition;
  const { reserve, afterDelete, finalizers, prepareDelete } = definition;
  const named = { namespaced, ...(nameRule && { nameRule }) };
  return {
    ...(definition.default && { default: definition.default as Strategy["default"] }),
    ...(definition.prepareCreate && { prepareCreate: definition.prepareCreate as Strategy["prepareCreate"] }),
    ...(definition.prepareUpdate && { prepareUpdate: definition.prepareUpdate as Strategy["prepareUpdate"] }),
    validate: (object) =>
      judged(object, settle, [
        ...validateObjectMeta(object, named),
        ...validateKubeFinalizers(object.metadata.finalizers, "metadata.finalizers"),
        ...(definition.validate?.(object as AnyDraft) ?? []),
      ]),
    validateUpdate: (object, old) =>
      judged(object, settle, [
        ...validateChangedMeta(object, old),
        ...((definition.validateUpdate ?? definition.validate)?.(object as AnyDraft, old as AnyDraft) ?? []),
      ]),
    ...(definition.warnings && { warnings: definition.warnings as Strategy["warnings"] }),
    ...(hasStatus && { hasStatus }),
    ...(definition.generation && { changesGeneration: generationRule(definition.generation) }),
    ...(createsOnUpdate && { createsOnUpdate }),
    ...(unconditionalUpdate !== undefined && { unconditionalUpdate }),
    ...(defaultPropagation && { defaultPropagation }),
    ...(definition.gracePeriod && { gracePeriod: definition.gracePeriod as Strategy["gracePeriod"] }),
    ...(reserve && { reserve }),
    ...(afterDelete && { afterDelete }),
    ...(finalizers && { finalizers }),
    ...(prepareDelete && { prepareDelete }),
  } as Strategy;
}

function generationRule(
  rule: NonNullable<KindDefinition["generation"]>,
): (object: KubeObject, old: KubeObject) => boolean {
  if (typeof rule === "function") return rule as (object: KubeObject, old: KubeObject) => boolean;
  const content = ({ metadata, status, apiVersion, kind, ...rest }: AnyDraft & { status?: unknown }) => rest;
  if (rule === "content") {
    return (object, old) => !sameMeaning(content(object as AnyDraft), content(old as AnyDraft));
  }
  return (object, old) => !sameMeaning((object as { spec?: unknown }).spec, (old as { spec?: unknown }).spec);
}

function validateChangedMeta(object: KubeObject, old: KubeObject): FieldError[] {
  return [
    ...validateObjectMetaUpdate(object, old),
    ...validateKubeFinalizers(object.metadata.finalizers, "metadata.finalizers"),
  ];
}

function subresourcesOf(
  definition: KindDefinition,
  resource: BuiltInResource,
  settle: Settle,
): Record<string, Subresource> {
  // Those that are not in discovery are for the kind's own actions.
  const subresources: Record<string, Subresource> = { ...definition.subresources };
  for (const { name, verbs } of resource.subresources) {
    const own = definition.subresources?.[name];
    if (own !== undefined) subresources[name] = own;
    else if (name === "status") subresources[name] = statusView(definition, verbs);
  }
  for (const [name, one] of Object.entries(subresources)) {
    if (one.type !== "view" || one.read !== undefined) continue;
    const validate: typeof one.validate = (object, old) => judged(object, settle, one.validate?.(object, old) ?? []);
    subresources[name] = { ...one, validate };
  }
  return subresources;
}

/** The usual `/status`: metadata as in any update, and the status; the spec stays. */
function statusView(definition: KindDefinition, verbs: readonly string[]): Subresource {
  return {
    type: "view",
    verbs,
    write(object, sent) {
      const target = object as KubeObject & { status?: unknown };
      target.status = (sent as { status?: unknown }).status ?? {};
      definition.prepareStatus?.(object as AnyDraft, sent as AnyDraft);
    },
    validate: (object, old) => [
      ...validateChangedMeta(object, old),
      ...(definition.validateStatus?.(object as AnyDraft, old as AnyDraft) ?? []),
    ],
  };
}

/**
 * What is wrong, each thing once. An object with which nothing is wrong gets the form in which it is kept: only now,
 * because that form has nulls in places where rules ask whether something is there.
 */
function judged(object: KubeObject, settle: Settle, errors: readonly FieldError[]): FieldError[] {
  if (errors.length === 0) settle(object);
  return distinct(errors);
}

/** The real server says some things several times, and leaves repetitions out of its message. */
function distinct(errors: readonly FieldError[]): FieldError[] {
  if (errors.length < 2) return [...errors];
  const seen = new Set<string>();
  return errors.filter((error) => {
    const text = describeFieldError(error);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}
