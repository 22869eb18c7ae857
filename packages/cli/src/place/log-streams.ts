import { describeError } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { type KnownPlaces, ownSiteIn, silenceOf, siteNameOfNode, siteOfNode } from "./known-places.ts";

/** What one container has written. */
export interface LogStream {
  readonly pod: Pod;
  readonly container: string;
}

export interface LogReading {
  places(): Promise<KnownPlaces>;
  /** Reads one to its end; `site` is the name of where it is. */
  read(stream: LogStream, site: string): Promise<void>;
  /** All at once; otherwise one after the other, so that lines of one pod stay together. */
  readonly together: boolean;
  /** Told at once of each that cannot be read. */
  told(text: string): void;
  readonly signal: AbortSignal;
}

/** All containers of some pods but init containers, or those of one name, of whatever sort. */
export function streamsOf(pods: readonly Pod[], wanted: string | undefined): LogStream[] {
  return pods.flatMap((pod) => {
    const names = wanted === undefined ? mainOf(pod) : allOf(pod).filter((name) => name === wanted);
    return names.map((container) => ({ pod, container }));
  });
}

/** The names that there are, each once. */
export function containersIn(pods: readonly Pod[]): string[] {
  return [...new Set(pods.flatMap(allOf))];
}

function mainOf({ spec }: Pod): string[] {
  return (spec?.containers ?? []).map(({ name }) => name);
}

function allOf(pod: Pod): string[] {
  const { initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [...initContainers.map(({ name }) => name), ...mainOf(pod), ...ephemeralContainers.map(({ name }) => name)];
}

/** One that could not be read. */
export interface UnreadLog {
  /** `pod web-1`, with its container where it has several. */
  readonly title: string;
  /** `, at wave: wave does not answer`. */
  readonly why: string;
}

/**
 * Reads logs, whatever becomes of one of them, and gives those that could not be read. A site that is known not to answer
 * is not asked: each question would take as long as the limit for answers.
 */
export async function readLogs(streams: readonly LogStream[], reading: LogReading): Promise<UnreadLog[]> {
  const { read, told, together, signal } = reading;
  let places = await reading.places();
  const unread: UnreadLog[] = [];
  const one = async (stream: LogStream) => {
    const node = stream.pod.spec?.nodeName;
    const fail = (reason: string) => {
      const site = node === undefined ? undefined : siteOfNode(places, node)?.metadata.name;
      const failed = { title: titleOf(stream), why: `${site === undefined ? "" : `, at ${site}`}: ${reason}` };
      unread.push(failed);
      told(failed.title + failed.why);
    };
    const silence = silenceOf(places, node);
    if (silence !== undefined) return fail(silence);
    try {
      await read(stream, siteNameOfNode(places, node));
    } catch (error) {
      signal.throwIfAborted();
      if (siteOfNode(places, node) !== ownSiteIn(places)) places = await reading.places();
      fail(silenceOf(places, node) ?? notBegun(stream) ?? describeError(error));
    }
  };
  if (together) await Promise.all(streams.map(one));
  else for (const stream of streams) await one(stream);
  return unread;
}

/** On a consumer's pod: whether the provider has taken it. */
const OFFLOADED_CONDITION = "fjord.dev/Offloaded";

/** Why there is no log yet, where the pod itself says so: servers between here and there wrap it into words of their own. */
function notBegun({ pod, container }: LogStream): string | undefined {
  if (!pod.spec?.nodeName) return "it has not begun: no node has been chosen for it yet";
  const offloaded = pod.status?.conditions?.find(({ type }) => type === OFFLOADED_CONDITION);
  if (offloaded?.status === "False") return `it has not been taken: ${offloaded.reason}: ${inLine(offloaded.message)}`;
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const all = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  const waiting = all.find(({ name }) => name === container)?.state?.waiting;
  if (waiting === undefined) return undefined;
  const why = [waiting.reason, inLine(waiting.message)].filter((text) => text).join(": ");
  return `container ${container} is waiting to start${why === "" ? "" : `: ${why}`}`;
}

function inLine(text: string | undefined): string {
  return (text ?? "").replace(/\s+/g, " ").replace(/[.\s]+$/, "");
}

/** What is so for several is said once. */
export function unreadText(unread: readonly UnreadLog[]): string {
  const groups = Map.groupBy(unread, ({ why }) => why);
  return [...groups].map(([why, logs]) => logs.map(({ title }) => title).join(", ") + why).join("; ");
}

function titleOf({ pod, container }: LogStream): string {
  return mainOf(pod).length > 1 ? `pod ${pod.metadata.name} (${container})` : `pod ${pod.metadata.name}`;
}
