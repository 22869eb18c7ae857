import { type Clock, describeError, type Logger, onAbort, type Random, WorkQueue } from "@fjord/base";
import { compareResourceVersions, isConflict, isInvalid, isNotFound, Pod, sameContent, type Writer } from "@fjord/kube";
import { type PodStatus, podFields, uidOf } from "../pod-containers.ts";
import { isReported, statusPatch, wouldRevive } from "./status-patch.ts";

export interface StatusWriterOptions {
  readonly client: Pick<Writer, "patch" | "delete">;
  /** How many requests are under way at once. @default 8 */
  readonly workers?: number;
  /** The longest time between tries. @default 10_000 */
  readonly maxDelayMs?: number;
  /** Types of conditions that the writer sets beside those that nodes do. @default none */
  readonly alsoOwn?: readonly string[];
  /** Told when everything that was set for a pod is in the API. */
  readonly onWritten?: (podUid: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Entry {
  /** Names the pod, and holds nothing else of it: there may be thousands. */
  readonly pod: Pod;
  /** What the API has, as far as is known, and of which revision that is. */
  reported: PodStatus | undefined;
  resourceVersion: string;
  /** What the API was last given, and what it made of it: some servers drop fields that they do not know. */
  taken?: { readonly status: PodStatus; readonly resourceVersion: string } | undefined;
  status: PodStatus | undefined;
  isFinished: boolean;
}

/**
 * Brings the statuses of pods to the API: the newest of each, only where it differs, tried until it is taken. It knows of
 * no runtime; whatever stands in for a node can use it.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #queue: WorkQueue;
  readonly #entries = new Map<string, Entry>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    const { clock, random, maxDelayMs = 10_000 } = options;
    this.#queue = new WorkQueue({ clock, random, backoff: { initial: 200, max: maxDelayMs } });
  }

  /** Takes over the status; `pod` is as the API last showed it. */
  set(pod: Pod, status: PodStatus): void {
    const entry = this.#entryOf(pod);
    this.#notice(entry, pod);
    if (wouldRevive(entry.status ?? entry.reported, status)) {
      this.#options.logger.warn("a pod that has ended stays so", { ...podFields(pod), phase: status.phase });
      return;
    }
    const isThere = isReported(entry.reported, status, this.#options.alsoOwn);
    if (isThere) entry.taken = undefined;
    if (isThere || isTaken(entry, status)) {
      entry.status = undefined;
      return;
    }
    entry.status = status;
    this.#queue.add(uidOf(pod));
  }

  /**
   * The status that the pod has or is about to have, as far as is known: what was set, or what the API has answered, may
   * be ahead of what `pod` shows. Whoever computes the next status of the last, times included, is to begin here: two that
   * begin at different ones would be written in turn for as long as a watch is behind.
   */
  latest(pod: Pod): PodStatus | undefined {
    const entry = this.#entries.get(uidOf(pod));
    if (entry === undefined) return pod.status;
    const { resourceVersion = "" } = pod.metadata;
    const isBehind = (compareResourceVersions(resourceVersion, entry.resourceVersion) ?? 0) < 0;
    const known = isBehind ? entry.reported : pod.status;
    const next = entry.status;
    if (next === undefined) return known;
    const own = new Set(next.conditions?.map(({ type }) => type));
    const others = known?.conditions?.filter(({ type }) => !own.has(type)) ?? [];
    return { ...next, conditions: [...others, ...(next.conditions ?? [])] };
  }

  /** Deletes the pod from the API for good, once its last status is there. */
  finish(pod: Pod): void {
    this.#entryOf(pod).isFinished = true;
    this.#queue.add(uidOf(pod));
  }

  /** The API no longer has the pod. */
  forget(podUid: string): void {
    this.#entries.delete(podUid);
    this.#queue.forget(podUid);
  }

  /** Whether everything that was set for the pod is in the API. */
  isWritten(podUid: string): boolean {
    return this.#entries.get(podUid)?.status === undefined;
  }

  async run(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const release = onAbort(signal, () => over.abort());
    const { workers = 8 } = this.#options;
    await Promise.all(Array.from({ length: workers }, () => this.#work(over.signal)));
    release();
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (let uid = await this.#queue.next(signal); uid !== undefined; uid = await this.#queue.next(signal)) {
      try {
        await this.#write(uid, signal);
        this.#queue.forget(uid);
      } catch (error) {
        if (!signal.aborted) this.#retry(uid, error);
      } finally {
        this.#queue.done(uid);
      }
    }
  }

  #retry(uid: string, error: unknown): void {
    const failures = this.#queue.failures(uid);
    const pod = this.#entries.get(uid)?.pod;
    if (failures === 0 && pod !== undefined && !isGone(error)) {
      const note = { ...podFields(pod), error: describeError(error) };
      this.#options.logger.warn("cannot report a pod's status, trying again", note);
    }
    this.#queue.addRateLimited(uid);
  }

  async #write(uid: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    try {
      if (entry.status !== undefined) await this.#patch(uid, entry, entry.status, signal);
      if (entry.isFinished && entry.status === undefined) await this.#delete(uid, entry, signal);
    } catch (error) {
      // An API server that has just started denies pods that it has, to nodes that delete them: only when it tells by
      // itself that one is gone, and `forget` is called, is that certain.
      if (!isGone(error) || entry.isFinished) throw error;
      // Gone, or another pod by now: either way nobody waits for this one's status.
      this.#entries.delete(uid);
    }
  }

  async #patch(uid: string, entry: Entry, status: PodStatus, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const patch = statusPatch(uid, status, this.#options.alsoOwn);
    try {
      this.#notice(
        entry,
        await client.patch(Pod, keyOf(entry.pod), "strategic", patch, { subresource: "status", signal }),
      );
    } catch (error) {
      if (!isInvalid(error) || isAnother(error)) throw error;
      // It would be refused each time, and nothing must wait for it for ever.
      const note = { ...podFields(entry.pod), error: describeError(error) };
      this.#options.logger.error("the API refuses a pod's status", note);
    }
    entry.taken = { status, resourceVersion: entry.resourceVersion };
    // A newer one may have come meanwhile, and waits in the queue.
    if (entry.status !== status && !sameContent(entry.status, status)) return;
    entry.status = undefined;
    this.#options.onWritten?.(uid);
  }

  async #delete(uid: string, { pod }: Entry, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    await client.delete(Pod, keyOf(pod), { gracePeriodSeconds: 0, preconditions: { uid }, signal });
  }

  /** Others write to the status too: the newest of what was seen counts, whoever showed it. */
  #notice(entry: Entry, { status, metadata: { resourceVersion = "" } }: Pod): void {
    const isOlder = (compareResourceVersions(resourceVersion, entry.resourceVersion) ?? 0) < 0;
    if (isOlder) return;
    entry.reported = status;
    entry.resourceVersion = resourceVersion;
  }

  #entryOf(pod: Pod): Entry {
    const uid = uidOf(pod);
    const entry = this.#entries.get(uid);
    if (entry !== undefined) return entry;
    const { resourceVersion = "", name, namespace } = pod.metadata;
    const named: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, uid } };
    const fresh: Entry = { pod: named, reported: pod.status, resourceVersion, status: undefined, isFinished: false };
    this.#entries.set(uid, fresh);
    return fresh;
  }
}

function isGone(error: unknown): boolean {
  return isNotFound(error) || isConflict(error) || isAnother(error);
}

/** Another pod has the name by now: some servers say so as of a field that cannot be changed. */
function isAnother(error: unknown): boolean {
  return isInvalid(error) && error.details.causes?.some(({ field }) => field === "metadata.uid") === true;
}

/** Whether the API has made of the status what it can, and nobody has changed it since. */
function isTaken({ taken, resourceVersion }: Entry, status: PodStatus): boolean {
  return taken !== undefined && taken.resourceVersion === resourceVersion && sameContent(taken.status, status);
}

function keyOf(pod: Pod): { name: string; namespace: string } {
  return { name: pod.metadata.name ?? "", namespace: pod.metadata.namespace ?? "" };
}
