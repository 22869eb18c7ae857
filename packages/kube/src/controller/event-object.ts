import { createHash } from "node:crypto";
import type { KubeObject } from "@fjord/base";
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

/**
 * Tells the object's name to whoever lists events, and is the same for the same series, so that a process that is started anew
 * goes on with the events of the one before.
 */
export function eventName(object: KubeObject, series: Pick<EventSeries, "key">, source: EventSource): string {
  const readable = (object.metadata.name ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, "-")
    .slice(0, 200)
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "");
  const told = JSON.stringify([source.component, source.instance, series.key]);
  return `${readable || "event"}.${createHash("sha256").update(told).digest("hex").slice(0, 16)}`;
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

/** Counts on where the event that is there ended. False where it is none of this series: then its name is taken. */
export function resumeSeries(series: EventSeries, there: CoreEvent, object: KubeObject): boolean {
  const { involvedObject, type, reason, firstTimestamp, count = 1 } = there;
  const { uid, name } = object.metadata;
  const isOfSeries = type === series.note.type && reason === series.note.reason;
  const isAbout = involvedObject.kind === object.kind && involvedObject.name === name && involvedObject.uid === uid;
  const first = Date.parse(String(firstTimestamp));
  if (!isOfSeries || !isAbout || Number.isNaN(first) || count > MOST_COUNTED) return false;
  // Its own, sent before by an attempt whose answer was lost, has what was counted so far.
  if (series.attempts === 1 || time(first) !== time(series.first)) series.count += count;
  series.first = first;
  return true;
}

/** Servers keep counts in 32 bits. */
const MOST_COUNTED = 2 ** 30;

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
