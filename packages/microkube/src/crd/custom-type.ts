import type { KubeObject } from "@fjord/base";
import { jsonPathValues } from "@fjord/kube";
import { CostAccount } from "../cel/index.ts";
import { type FieldError, invalidField } from "../field-error.ts";
import { validateKubeFinalizers, validateObjectMeta, validateObjectMetaUpdate } from "../kinds/object-meta.ts";
import type { Column, ResourceType, Strategy, Subresource } from "../kinds/resource-type.ts";
import { since } from "../kinds/values/duration.ts";
import { sameMeaning } from "../kinds/values/equality.ts";
import { applyDefaults } from "../schema/defaults.ts";
import type { Schema } from "../schema/schema.ts";
import { compileRules } from "./cel-rules.ts";
import { compactSchema } from "./compact-schema.ts";
import { byPriority, type Definition, type DefinitionVersion } from "./definition.ts";
import { prune } from "./prune.ts";
import { scaleProblems, scaleView } from "./scale-view.ts";
import { validateValue } from "./validate-value.ts";

export interface CustomTypeMeans {
  /** The schema of `metadata`, which is every kind's. */
  readonly meta: Schema;
  /** Brings objects to another version. */
  readonly convert: (definition: Definition, object: KubeObject, version: string) => KubeObject | Promise<KubeObject>;
}

type Custom = KubeObject & { spec?: unknown; status?: unknown };

/** The resource that a definition defines. */
export function customType(definition: Definition, means: CustomTypeMeans): ResourceType {
  const { spec, status } = definition;
  const names = status?.acceptedNames ?? spec.names;
  const storage = spec.versions.find((version) => version.storage) ?? spec.versions[0];
  if (storage === undefined) throw new TypeError(`${definition.metadata.name} has no versions`);
  const served = spec.versions.filter((version) => version.served);
  const schemas = new Map(
    spec.versions.map(({ name, schema }) => [name, compactSchema(schema?.openAPIV3Schema, means.meta)]),
  );
  const views = new Map(
    spec.versions.map((version) => [
      version.name,
      { columns: columnsOf(version), selectableFields: selectableOf(version) },
    ]),
  );
  const namespaced = spec.scope === "Namespaced";
  const shown = served.find(({ name }) => name === storage.name) ?? served[0] ?? storage;
  return {
    group: spec.group,
    version: storage.name,
    versions: served.map(({ name }) => name).sort(byPriority),
    kind: names.kind,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    ...(names.listKind && { listKind: names.listKind }),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced,
    schema: (version) => schemas.get(version),
    strategy: customStrategy(storage, namespaced, schemas.get(storage.name) ?? {}),
    subresources: subresourcesOf(storage, namespaced, schemas.get(storage.name) ?? {}),
    columns: columnsOf(shown),
    selectableFields: selectableOf(storage),
    ofVersion: (version) => views.get(version) ?? {},
    convert: async (object, version) => {
      const schema = schemas.get(version) ?? {};
      const converted = prune(await means.convert(definition, object, version), schema).value as KubeObject;
      applyDefaults(converted, schema);
      return converted;
    },
    read: (value, version, keys) => prune(value, schemas.get(version) ?? {}, keys),
  };
}

const blocking: ReadonlySet<string> = new Set([
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueNotSupported",
  "FieldValueTypeInvalid",
]);
const notChecked = invalidField(
  "<nil>",
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
);

function customStrategy(version: DefinitionVersion, namespaced: boolean, compact: Schema): Strategy {
  const schema = version.schema?.openAPIV3Schema;
  const rules = schema && compileRules(schema, compact);
  const { status, scale } = version.subresources ?? {};
  const hasStatus = status !== undefined;
  const content = (object: KubeObject): FieldError[] => {
    if (schema === undefined) return [];
    const value = contentOf(object);
    return [...validateValue(value, schema, ""), ...(scale ? scaleProblems(scale, object) : [])];
  };
  return {
    hasStatus,
    unconditionalUpdate: false,
    validate: (object) => [
      ...validateObjectMeta(object, { namespaced }),
      ...validateKubeFinalizers(object.metadata.finalizers, "metadata.finalizers"),
      ...content(object),
    ],
    validateUpdate: (object, old) => [...validateObjectMetaUpdate(object, old), ...content(object)],
    ...(rules && {
      *checkRules(object, old, errors) {
        // Rules may count on types only where these are right.
        if (errors.some(({ type }) => blocking.has(type))) return [notChecked];
        return yield* rules(contentOf(object), old && contentOf(old), "", new CostAccount());
      },
    }),
    changesGeneration: (object, old) => !sameMeaning(generated(object, hasStatus), generated(old, hasStatus)),
    ...(version.deprecated && {
      warnings: () => [version.deprecationWarning ?? `${version.name} is deprecated`],
    }),
  };
}

/** Metadata has rules of its own. */
function contentOf({ metadata, ...rest }: KubeObject): Record<string, unknown> {
  const { name, generateName } = metadata;
  return { ...rest, metadata: { ...(name && { name }), ...(generateName && { generateName }) } };
}

function generated(object: KubeObject, hasStatus: boolean): unknown {
  const { metadata: _, status, ...rest } = object as Custom;
  return hasStatus ? rest : { ...rest, status };
}

function subresourcesOf(version: DefinitionVersion, namespaced: boolean, compact: Schema): Record<string, Subresource> {
  const { status, scale } = version.subresources ?? {};
  const strategy = customStrategy(version, namespaced, compact);
  return {
    ...(status !== undefined && {
      status: {
        type: "view",
        verbs: ["get", "patch", "update"],
        write(object, sent) {
          const { status: next } = sent as Custom;
          if (next === undefined) delete (object as Custom).status;
          else (object as Custom).status = next;
        },
        validate: (object, old) => strategy.validateUpdate?.(object, old) ?? [],
      } satisfies Subresource,
    }),
    ...(scale !== undefined && { scale: scaleView(scale) }),
  };
}

function columnsOf({ additionalPrinterColumns }: DefinitionVersion): Column[] {
  const name: Column = {
    name: "Name",
    type: "string",
    format: "name",
    priority: 0,
    value: ({ metadata }) => metadata.name ?? "",
  };
  const age: Column = {
    name: "Age",
    type: "date",
    priority: 0,
    value: ({ metadata }, now) => since(metadata.creationTimestamp, now),
  };
  if (additionalPrinterColumns === undefined || additionalPrinterColumns.length === 0) return [name, age];
  const own = additionalPrinterColumns.map(
    ({ name: title, type, format, description, priority = 0, jsonPath }): Column => {
      const find = readPath(jsonPath);
      return {
        name: title,
        type: type as Column["type"],
        ...(format && { format }),
        description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
        priority: priority > 0 ? 1 : 0,
        value: (object, now) => cell(find(object)[0], type, now),
      };
    },
  );
  return [name, ...own];
}

/** A path that cannot be read finds nothing: its kind is served all the same. */
function readPath(jsonPath: string): (object: unknown) => readonly unknown[] {
  try {
    return jsonPathValues(jsonPath);
  } catch {
    return () => [];
  }
}

function cell(value: unknown, type: string, now: number): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  if (type === "date") return typeof value === "string" ? since(value, now) : null;
  if (type === "integer" || type === "number") return typeof value === "number" ? value : null;
  if (type === "boolean") return typeof value === "boolean" ? value : null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function selectableOf({ selectableFields = [] }: DefinitionVersion): Record<string, (object: KubeObject) => string> {
  return Object.fromEntries(
    selectableFields.map(({ jsonPath }) => {
      const find = jsonPathValues(jsonPath);
      const text = (object: KubeObject) => {
        const [value] = find(object);
        return value === undefined || value === null ? "" : String(value);
      };
      return [jsonPath.replace(/^\./, ""), text];
    }),
  );
}
