import type { KubeObject, ObjectMeta } from "@fjord/base";
import type { IEvent } from "kubernetes-models/v1/Event";
import type { FieldError } from "../../field-error.ts";
import { invalidField, required } from "../../field-error.ts";
import { invalid } from "../../status-error.ts";
import { text, wide } from "../columns.ts";
import { type DraftObject, defineResource, type KindColumn } from "../kind.ts";
import { since } from "../values/duration.ts";
import { immutable, sameMeaning } from "../values/equality.ts";
import { qualifiedName } from "../values/label.ts";
import { dnsSubdomain, pathSegment } from "../values/name.ts";

export type Event = DraftObject<IEvent>;
const about = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"] as const;

export const event = defineResource<IEvent>({
  group: "",
  kind: "Event",
  // The real server asks no more of names here than that they fit into a path.
  nameRule: pathSegment,
  createsOnUpdate: true,
  validate: (object) => validateEvent(object, "reportingComponent"),
  validateUpdate: (object) => validateEvent(object, "reportingComponent"),
  selectableFields: selectableFields((object) => object),
  columns: columns((object) => object),
});

/** The core group's events as the newer group shows them: other names for the same fields. */
export const newEvent = defineResource<Record<string, unknown>>({
  group: "events.k8s.io",
  kind: "Event",
  createsOnUpdate: true,
  storedAs: { group: "", version: "v1", plural: "events", toStored, fromStored },
  validate: (object) => {
    const stored = toStored(object as unknown as KubeObject) as unknown as Event;
    return refuse(object, [...validateEvent(stored, "reportingController"), ...validateStrictly(stored)]);
  },
  validateUpdate(object, old) {
    const stored = toStored(object as unknown as KubeObject) as unknown as Event;
    return refuse(object, [
      ...validateEvent(stored, "reportingController"),
      ...validateChange(stored, toStored(old as unknown as KubeObject) as unknown as Event),
    ]);
  },
  selectableFields: selectableFields((object) => toStored(object as unknown as KubeObject) as unknown as Event),
  columns: columns((object) => toStored(object as unknown as KubeObject) as unknown as Event),
});

/** Whichever group was asked, it is an Event of the core group that is wrong. */
function refuse({ metadata }: { metadata: ObjectMeta }, errors: readonly FieldError[]): FieldError[] {
  if (errors.length > 0) throw invalid({ group: "", kind: "Event" }, metadata.name ?? "", errors);
  return [];
}

const renamed = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
] as const;

function toStored(object: KubeObject): KubeObject {
  return rename(
    { ...object, apiVersion: "v1" },
    renamed.map(([stored, shown]) => [shown, stored] as const),
  );
}

function fromStored(stored: KubeObject): KubeObject {
  const shown = rename({ ...stored, apiVersion: "events.k8s.io/v1" }, renamed) as KubeObject & Record<string, unknown>;
  for (const field of ["reportingController", "reportingInstance"]) if (shown[field] === "") delete shown[field];
  return shown;
}

function rename(object: KubeObject, names: readonly (readonly [string, string])[]): KubeObject {
  const fields = new Map(names);
  const entries = Object.entries(object).map(([name, value]) => [fields.get(name) ?? name, value] as const);
  return Object.fromEntries(entries) as unknown as KubeObject;
}

const longest = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

function validateEvent(object: Event, controllerField: string): FieldError[] {
  const { metadata, involvedObject = {}, eventTime, reportingComponent = "" } = object;
  const { namespace = "" } = metadata;
  const errors: FieldError[] = [];
  const mismatch = () =>
    errors.push(
      invalidField("involvedObject.namespace", involvedObject.namespace ?? "", "does not match event.namespace"),
    );
  if (!eventTime) {
    const isAnywhere = !involvedObject.namespace && (namespace === "" || namespace === "default");
    if (!isAnywhere && namespace !== (involvedObject.namespace ?? "")) mismatch();
  } else {
    if (!involvedObject.namespace && namespace !== "default" && namespace !== "kube-system") mismatch();
    if (reportingComponent === "") errors.push(required(controllerField));
    const texts = qualifiedName(reportingComponent);
    errors.push(...texts.map((one) => invalidField(controllerField, reportingComponent, one)));
    for (const field of ["reportingInstance", "action", "reason", "message"] as const) {
      const value = object[field] ?? "";
      if (value === "" && field !== "message") errors.push(required(field));
      if (value.length > longest[field]) {
        errors.push(invalidField(field, "", `can have at most ${longest[field]} characters`));
      }
    }
  }
  return [...errors, ...dnsSubdomain(namespace).map((one) => invalidField("namespace", namespace, one))];
}

function validateStrictly(object: Event): FieldError[] {
  const errors = validateSeries(object);
  if (!object.eventTime) errors.push(required("eventTime"));
  if (object.type !== "Normal" && object.type !== "Warning") {
    errors.push(invalidField("type", "", `has invalid value: ${object.type ?? ""}`));
  }
  const { firstTimestamp, lastTimestamp, count, source } = object;
  if (firstTimestamp) errors.push(invalidField("firstTimestamp", "", "needs to be unset"));
  if (lastTimestamp) errors.push(invalidField("lastTimestamp", "", "needs to be unset"));
  if (count) errors.push(invalidField("count", "", "needs to be unset"));
  if (source?.component || source?.host) errors.push(invalidField("source", "", "needs to be unset"));
  return errors;
}

function validateSeries({ series }: Event): FieldError[] {
  if (series === undefined) return [];
  const errors: FieldError[] = [];
  if ((series.count ?? 0) < 2) errors.push(invalidField("series.count", "", "should be at least 2"));
  if (!series.lastObservedTime) errors.push(required("series.lastObservedTime"));
  return errors;
}

function validateChange(object: Event, old: Event): FieldError[] {
  const errors = sameMeaning(object.series, old.series) ? [] : validateSeries(object);
  const kept = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingInstance",
  ] as const;
  for (const field of kept) errors.push(...immutable(object[field], old[field], field));
  return [...errors, ...immutable(object.reportingComponent, old.reportingComponent, "reportingController")];
}

/** Under the names of both groups: what is kept of an event is the same, whoever asks for it. */
function selectableFields<T>(eventOf: (object: DraftObject<T>) => Event) {
  type Read = (object: DraftObject<T>) => string;
  const fields: Record<string, Read> = {
    reason: (object) => eventOf(object).reason ?? "",
    reportingComponent: (object) => eventOf(object).reportingComponent ?? "",
    reportingController: (object) => eventOf(object).reportingComponent ?? "",
    source: (object) => eventOf(object).source?.component || eventOf(object).reportingComponent || "",
    type: (object) => eventOf(object).type ?? "",
  };
  for (const field of about) {
    const read: Read = (object) => eventOf(object).involvedObject?.[field] ?? "";
    fields[`involvedObject.${field}`] = read;
    fields[`regarding.${field}`] = read;
  }
  return fields;
}

function columns<T>(eventOf: (object: DraftObject<T>) => Event): KindColumn<T>[] {
  const of = (name: string, value: (object: Event, now: number) => string | number): KindColumn<T> =>
    text(name, (object, now) => value(eventOf(object), now));
  return [
    of("Last Seen", (object, now) => {
      if (object.series) return since(object.series.lastObservedTime, now);
      return object.lastTimestamp ? since(object.lastTimestamp, now) : firstSeen(object, now);
    }),
    of("Type", ({ type }) => type ?? ""),
    of("Reason", ({ reason }) => reason ?? ""),
    of("Object", ({ involvedObject = {} }) => {
      const kind = (involvedObject.kind ?? "").toLowerCase();
      return involvedObject.name ? `${kind}/${involvedObject.name}` : kind;
    }),
    wide(of("Subobject", ({ involvedObject }) => involvedObject?.fieldPath ?? "")),
    wide(
      of("Source", ({ source, reportingComponent, reportingInstance }) => {
        const component = source?.component || reportingComponent || "";
        const instance = source?.host || reportingInstance || "";
        return instance === "" ? component : `${component}, ${instance}`;
      }),
    ),
    of("Message", ({ message }) => (message ?? "").trim()),
    wide(of("First Seen", firstSeen)),
    wide(of("Count", ({ series, count }) => series?.count ?? (count || 1))),
    wide({ ...of("Name", ({ metadata }) => metadata.name ?? ""), format: "name" }),
  ];
}

function firstSeen({ firstTimestamp, eventTime }: Event, now: number): string {
  return since(firstTimestamp || (eventTime as string | undefined), now);
}
