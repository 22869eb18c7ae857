import type { ShadowPod } from "@fjord/api";
import type { EventSink, Pod } from "@fjord/kube";
import { isTerminal, type PodStatus, type StatusWriter } from "@fjord/node/pod-status";
import type { Addresses } from "../../addresses.ts";
import type { Home } from "../../home.ts";
import { LINK_SILENT } from "../../offloaded-pods.ts";
import type { Place } from "./pod-life.ts";
import { hasObserved } from "./remote-pods.ts";
import {
  homeStatus,
  OFFLOADED_CONDITION,
  refusedStatus,
  type StatusSources,
  waiting,
  withReach,
} from "./status/index.ts";

export interface PodReportsOptions {
  readonly home: { readonly client: Pick<Home["client"], "serverClock">; readonly recorder: EventSink };
  readonly writer: StatusWriter;
  readonly addresses?: Addresses;
}

/** Tells at home what becomes of pods elsewhere: statuses, and an event for what goes wrong. */
export class PodReports {
  readonly #options: PodReportsOptions;
  /** By uid: the last trouble that an event was written of. */
  readonly #told = new Map<string, string>();

  constructor(options: PodReportsOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#told.delete(uid);
    this.#options.writer.forget(uid);
  }

  /** What the provider says, if it is news. */
  report(pod: Pod, place: Place, shadow: ShadowPod | undefined, isForged = true): void {
    const guest = place.remote.guestOf(pod.metadata.uid ?? "");
    const isBehind = !isForged || (guest !== undefined && shadow !== undefined && !hasObserved(guest, shadow));
    const { addresses } = this.#options;
    const { id } = place.site;
    const status = homeStatus({
      ...this.#sources(pod, place),
      ...(shadow && { shadow }),
      ...(guest && { guest }),
      isBehind,
      onLoopback: (address) => addresses?.allowsLoopback?.(id, address) === true,
      isCutOff: addresses?.isSilent?.(id) === true,
      calledHere: (address) => (addresses === undefined ? address : addresses.calledHere(id, address)),
    });
    if (status === undefined) return;
    const before = this.#options.writer.latest(pod) ?? pod.status;
    this.#options.writer.set(pod, status);
    this.#tellReach(pod, isCutOff(before), status);
    const offloaded = status.conditions?.find(({ type }) => type === OFFLOADED_CONDITION);
    if (offloaded?.status === "False") this.tell(pod, offloaded.reason ?? "", offloaded.message ?? "");
  }

  /** Whether it can be reached, while nothing else is known of it. */
  reach(pod: Pod, place: Place): void {
    const before = this.#options.writer.latest(pod) ?? pod.status;
    const isSilent = this.#options.addresses?.isSilent?.(place.site.id) === true;
    const status = before && withReach(before, isSilent, this.#options.home.client.serverClock.now());
    if (status === undefined) return;
    this.#options.writer.set(pod, status);
    this.#tellReach(pod, isCutOff(before), status);
  }

  /** The pod will not run, and has failed. */
  refuse(pod: Pod, place: Place, reason: string, message: string): void {
    this.#options.writer.set(pod, refusedStatus(this.#sources(pod, place), reason, message));
    this.tell(pod, reason, message);
  }

  /** Something stands in the way for now. */
  trouble(pod: Pod, reason: string, message: string): void {
    const status = waiting(this.#sources(pod), { status: "False", reason, message });
    if (status !== undefined && pod.status?.startTime === undefined) this.#options.writer.set(pod, status);
    this.tell(pod, reason, message);
  }

  /** The pod is gone elsewhere, and may go here. */
  finish(pod: Pod): void {
    const { writer } = this.#options;
    // Whoever holds it with a finalizer, such as a Job, waits to hear how it ended.
    if ((pod.metadata.finalizers?.length ?? 0) > 0 && !isTerminal(pod.status?.phase)) {
      const message = "the pod was deleted before it had finished";
      writer.set(pod, refusedStatus(this.#sources(pod), "Deleted", message));
    }
    writer.finish(pod);
  }

  /** Once for each trouble: it is looked at again and again while it lasts. */
  tell(pod: Pod, reason: string, message: string): void {
    const { uid = "" } = pod.metadata;
    const text = `${reason}: ${message}`;
    if (this.#told.get(uid) === text) return;
    this.#told.set(uid, text);
    this.#options.home.recorder.event(pod, { type: "Warning", reason, message, action: "Offloading" });
  }

  /** When it can no longer be reached, and when it can again. */
  #tellReach(pod: Pod, wasCutOff: boolean, status: PodStatus): void {
    if (isCutOff(status) === wasCutOff) return;
    const { message = "" } = readyOf(status) ?? {};
    const event = wasCutOff
      ? { type: "Normal" as const, reason: "LinkAnswers", message: "the link to the provider answers again" }
      : { type: "Warning" as const, reason: LINK_SILENT, message };
    this.#options.home.recorder.event(pod, { ...event, action: "Offloading" });
  }

  #sources(pod: Pod, place?: Place): Pick<StatusSources, "pod" | "hostIPs" | "now" | "clockAhead"> {
    const address = place === undefined ? pod.status?.hostIP : place.node.object.status?.address;
    // The watch may be behind what was written, and a status made of an older one would take back what is there.
    const status = this.#options.writer.latest(pod);
    const { serverClock } = this.#options.home.client;
    return {
      pod: status === undefined || status === pod.status ? pod : { ...pod, status },
      hostIPs: address === undefined ? [] : [address],
      now: serverClock.now(),
      clockAhead: place?.site.kube.serverClock.aheadOf(serverClock) ?? 0,
    };
  }
}

function isCutOff(status: PodStatus | undefined): boolean {
  return readyOf(status)?.reason === LINK_SILENT;
}

function readyOf(status: PodStatus | undefined) {
  return status?.conditions?.find(({ type }) => type === "Ready");
}
