import { createHash } from "node:crypto";
import { MANAGED_LABEL, SITE_LABEL } from "@fjord/api";
import type { KubeObject } from "@fjord/base";
import type { CoreEvent, Pod } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { REFLECT } from "../engine/twin-metadata.ts";

/** What is known of where an event comes from. */
export interface EventOrigin {
  readonly site: SiteId;
  readonly twinNamespace: string;
  /** Names of the provider's nodes that events of its pods have shown so far. */
  readonly hosts: ReadonlySet<string>;
  /** By the clock of the own API. */
  readonly now: number;
  /** By how many milliseconds the clock of the site's API is ahead of that. @default 0 */
  readonly clockAhead?: number;
}

const LONGEST_MESSAGE = 1024;
const MOST_COUNT = 2 ** 31 - 1;

/** Of objects that are on no node here, for names of the provider's nodes. */
const SOME_NODE = "a node there";

/**
 * The event of the own pod that an event of its guest becomes, or of another own object that one of its twin does; undefined where there is
 * nothing to tell. Nothing in the other site's event is believed to have the type, the size or the form that it should.
 */
export function homeEvent(event: CoreEvent, own: KubeObject, origin: EventOrigin): CoreEvent | undefined {
  const reason = wordOf(event.reason);
  const message = textOf(event.message);
  if (reason === undefined || message === undefined || isOrdinaryScheduling(reason)) return undefined;
  const { namespace = "", name = "", uid, creationTimestamp } = own.metadata;
  const { nodeName } = (own.kind === "Pod" ? (own as Pod).spec : undefined) ?? {};
  const node = nodeName ?? SOME_NODE;
  const earliest = Date.parse(creationTimestamp ?? "") || 0;
  const last = lastSeen(event);
  const fieldPath = fieldPathOf(event.involvedObject?.fieldPath);
  const component = componentOf(event.source?.component ?? event.reportingComponent);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      name: eventName(name, event, origin.site),
      namespace,
      labels: { [MANAGED_LABEL]: REFLECT, [SITE_LABEL]: origin.site },
    },
    involvedObject: {
      apiVersion: own.apiVersion,
      kind: own.kind,
      namespace,
      name,
      ...(uid !== undefined && { uid }),
      ...(fieldPath !== undefined && { fieldPath }),
    },
    type: event.type === "Warning" ? "Warning" : "Normal",
    reason,
    message: atHome(message, { namespace, node }, origin),
    count: countOf(event.count ?? event.series?.count),
    firstTimestamp: timeOf(event.firstTimestamp ?? event.eventTime ?? last, earliest, origin.now, origin.clockAhead),
    lastTimestamp: timeOf(last, earliest, origin.now, origin.clockAhead),
    source: { component, ...(nodeName !== undefined && { host: nodeName }) },
    reportingComponent: component,
    reportingInstance: nodeName ?? "",
  };
}

/** Parts of an event that change when it happens again. */
export function progressOf({ count, lastTimestamp, message }: CoreEvent) {
  return { count, lastTimestamp, message };
}

/** When the event last happened, in the provider's words. */
export function lastSeen({ lastTimestamp, series, eventTime, metadata }: CoreEvent): unknown {
  return lastTimestamp ?? series?.lastObservedTime ?? eventTime ?? metadata.creationTimestamp;
}

/** The provider's node that an event speaks of, to be taken out of this and later ones. */
export function hostOf({ source, reportingComponent, reportingInstance }: CoreEvent): string | undefined {
  const host = source?.host ?? (reportingComponent === "kubelet" ? reportingInstance : undefined);
  return typeof host === "string" && /^[a-z0-9][a-z0-9.-]{2,252}$/.test(host) ? host : undefined;
}

/** The same for the same event of the same provider, so that it is written once whoever is restarted. */
function eventName(own: string, { metadata }: CoreEvent, site: SiteId): string {
  const text = JSON.stringify([site, metadata.uid, metadata.name]);
  const unique = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return `${own.slice(0, 230)}.${unique}`;
}

/** Which node the provider chose is its own business; at home the pod was scheduled long ago. */
function isOrdinaryScheduling(reason: string): boolean {
  return reason === "Scheduled";
}

function atHome(
  message: string,
  { namespace, node }: { namespace: string; node: string },
  { twinNamespace, hosts }: EventOrigin,
): string {
  let text = replaceName(message, twinNamespace, namespace);
  for (const host of hosts) text = replaceName(text, host, node);
  return text.slice(0, LONGEST_MESSAGE);
}

/** Whole names only: a namespace `web` is no part of `web-0`. */
function replaceName(text: string, name: string, by: string): string {
  if (!text.includes(name)) return text;
  const whole = new RegExp(`(?<![A-Za-z0-9-])${name.replaceAll(".", "\\.")}(?![A-Za-z0-9-])`, "g");
  return text.replace(whole, () => by);
}

function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[A-Za-z][A-Za-z0-9]{0,127}$/.test(value) ? value : undefined;
}

/** Without what no terminal should be sent. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  return value
    .slice(0, 4 * LONGEST_MESSAGE)
    .toWellFormed()
    .replace(/(?![\t\n])\p{Cc}/gu, " ");
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? Math.min(value, MOST_COUNT) : 1;
}

function fieldPathOf(value: unknown): string | undefined {
  const known = /^spec\.(?:initContainers|containers|ephemeralContainers)\{[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\}$/;
  return typeof value === "string" && known.test(value) ? value : undefined;
}

function componentOf(value: unknown): string {
  return typeof value === "string" && /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value) ? value : "provider";
}

/** By the clock of this site, and moved into the object's life where it is outside. */
function timeOf(value: unknown, earliest: number, latest: number, ahead = 0): string {
  const time = typeof value === "string" ? Date.parse(value) - ahead : Number.NaN;
  const bounded = Math.max(earliest, Math.min(latest, Number.isNaN(time) ? latest : time));
  return new Date(bounded).toISOString().replace(/\.\d+Z$/, "Z");
}
