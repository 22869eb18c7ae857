import { apiVersionOf, type KubeObject } from "@fjord/base";
import type { ResourceType } from "../kinds/resource-type.ts";
import { isPlain, objectText, type Registry } from "../registry/index.ts";
import { fromStored } from "../registry/versions.ts";
import type { StoredObject } from "../store/store.ts";
import type { AnswerForm } from "./media-type.ts";
import { columnDefinitions, columnsOf, type IncludedObject, partialOf, rowText } from "./table.ts";

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** How the objects of a request are put into text. */
export interface Rendering {
  /** Of one object, as a GET answers it. */
  text(stored: StoredObject): string | Promise<string>;
  /** The same for an object that is not stored: after a dry run, or of a view. */
  textOf(object: KubeObject): string | Promise<string>;
  /** Of one object within a list. */
  item(stored: StoredObject): string | Promise<string>;
  /** What is around the items of a list. */
  around(meta: ListMeta): readonly [before: string, after: string];
  /** Of an object within an event; the first one of a watch may say more. */
  event(stored: StoredObject, isFirst: boolean): string | Promise<string>;
  /** Whether `event` depends on the object alone: then its text is shared by all watchers. */
  readonly isShared: boolean;
}

export function renderingOf(
  registry: Registry,
  type: ResourceType,
  version: string,
  form: AnswerForm,
  included: IncludedObject = "Metadata",
): Rendering {
  if (form.as === "Table") return tableRendering(registry, type, version, form.version ?? "v1", included);
  if (form.as !== undefined) return partialRendering(registry, type, version, form.version ?? "v1");
  return objectRendering(registry, type, version);
}

function objectRendering(registry: Registry, type: ResourceType, version: string): Rendering {
  const apiVersion = apiVersionOf({ group: type.group, version });
  const prefix = `{"kind":${JSON.stringify(type.kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
  const plain = isPlain(type, version);
  const isCustom = registry.types.isCustom(type);
  const text = (stored: StoredObject) =>
    plain && (!isCustom || (stored.json.startsWith(prefix) && !registry.lacksDefaults(type, stored)))
      ? stored.json
      : shownText(registry, type, version, stored);
  // Items of built-in kinds carry no kind, as a list says it already.
  const strip = (json: string) => (json.startsWith(prefix) ? `{${json.slice(prefix.length)}` : json);
  return {
    text,
    textOf: async (object) => objectText(await fromStored(type, object, version), object.metadata.resourceVersion),
    item(stored) {
      const json = text(stored);
      if (isCustom) return json;
      return typeof json === "string" ? strip(json) : json.then(strip);
    },
    around: (meta) => [
      `{"kind":${JSON.stringify(type.listKind ?? `${type.kind}List`)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(type.read ? { continue: "", ...meta } : meta)},"items":[`,
      "]}",
    ],
    event: text,
    isShared: plain,
  };
}

async function shownText(
  registry: Registry,
  type: ResourceType,
  version: string,
  stored: StoredObject,
): Promise<string> {
  return objectText(await shown(registry, type, version, stored), String(stored.revision));
}

/** An object as requests of this version see it; shared with others where nothing had to be done. */
export async function shown(
  registry: Registry,
  type: ResourceType,
  version: string,
  stored: StoredObject,
): Promise<KubeObject> {
  return fromStored(type, registry.read(type, stored), version);
}

function partialRendering(registry: Registry, type: ResourceType, version: string, form: string): Rendering {
  const ofObject = (object: KubeObject) => JSON.stringify(partialOf(object, form));
  const text = async (stored: StoredObject) => ofObject(await shown(registry, type, version, stored));
  return {
    text,
    textOf: ofObject,
    item: text,
    around: (meta) => [
      `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${form}","metadata":${JSON.stringify(meta)},"items":[`,
      "]}",
    ],
    event: text,
    isShared: false,
  };
}

function tableRendering(
  registry: Registry,
  type: ResourceType,
  version: string,
  form: string,
  included: IncludedObject,
): Rendering {
  const columns = columnsOf(type, version);
  const definitions = columnDefinitions(columns);
  const around = (meta: Partial<ListMeta>, withColumns: boolean): [string, string] => [
    `{"kind":"Table","apiVersion":"meta.k8s.io/${form}","metadata":${JSON.stringify(meta)},"columnDefinitions":${withColumns ? definitions : "null"},"rows":[`,
    "]}",
  ];
  const row = (object: KubeObject) =>
    rowText(columns, object, included, registry.clock.now(), form, type.rowConditions?.(object));
  const item = async (stored: StoredObject) => row(await shown(registry, type, version, stored));
  const single = (rowJson: string, resourceVersion: string | undefined, withColumns: boolean) =>
    around({ ...(resourceVersion !== undefined && { resourceVersion }) }, withColumns).join(rowJson);
  return {
    text: async (stored) => single(await item(stored), String(stored.revision), true),
    textOf: (object) => single(row(object), object.metadata.resourceVersion, true),
    item,
    around: (meta) => around(meta, true),
    event: async (stored, isFirst) => single(await item(stored), String(stored.revision), isFirst),
    isShared: false,
  };
}
