import type { KubeObject, Random } from "@fjord/base";
import type { CoreEvent } from "../kinds/core.ts";
import type { EventSeries } from "./event-correlator.ts";

export interface EventSource {
  /** Who reports, such as `fjord-agent`. */
  component: string;
  /** Which one of them, such as a host name. */
  instance?: string;
}

/** Where an event about the object is kept: beside it, or in `default` for what is cluster-scoped. */
export function eventNamespace(object: KubeObject): string {
  return object.metadata.namespace ?? "default";
}

/** Unique, and telling the object's name to whoever lists events. */
export function eventName(object: KubeObject, now: number, random: Random): string {
  const readable = (object.metadata.name ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, "-")
    .slice(0, 200)
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "");
  const unique = `${now.toString(16)}${Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0")}`;
  return `${readable || "event"}.${unique}`;
}

/** An event as `kubectl describe` shows it, repeats as "x5 over 3m". */
export function eventObject(object: KubeObject, name: string, series: EventSeries, source: EventSource): CoreEvent {
  const { uid, namespace, resourceVersion } = object.metadata;
  const { type, reason, action, fieldPath } = series.note;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: eventNamespace(object) },
    involvedObject: {
      apiVersion: object.apiVersion,
      kind: object.kind,
      name: object.metadata.name ?? "",
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(fieldPath !== undefined && { fieldPath }),
    },
    type,
    reason,
    ...(action !== undefined && { action }),
    source: { component: source.component, ...(source.instance !== undefined && { host: source.instance }) },
    reportingComponent: source.component,
    reportingInstance: source.instance ?? "",
    firstTimestamp: time(series.first),
    ...eventProgress(series),
  };
}

/** What changes when an event happens again. */
export function eventProgress(series: EventSeries): { message: string; count: number; lastTimestamp: string } {
  return { message: series.message, count: series.count, lastTimestamp: time(series.last) };
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
