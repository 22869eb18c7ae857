import { ShadowPod } from "@fjord/api";
import {
  againAfter,
  type Controller,
  done,
  isConflict,
  isNotFound,
  type Reconcile,
  type Result,
  sameContent,
} from "@fjord/kube";
import { isTerminal } from "@fjord/node/pod-status";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import { type GuestMemory, hasPassed } from "./guest-memory.ts";
import { isGuestOf } from "./guest-pod.ts";
import { type GuestState, keyOf } from "./guest-state.ts";
import { type ShadowStatus, shadowStatus, type Verdict } from "./shadow-status.ts";

const within: Verdict = { reason: "WithinContract", message: "" };

/**
 * How long the status of an ordinary guest may wait: its consumer watches the guest itself, and a write to a custom
 * resource is the dearest request of a pod's life. Many that come at once are all there before the first is written.
 */
const PATIENT_MS = 30_000;
/**
 * How long no guest must have come or gone before statuses that can wait are written, and how long they wait at most: longer than it takes for
 * thousands to come, of which each would be written to while the rest have yet to be made.
 */
const CALM_MS = 5_000;
const LONGEST_MS = 900_000;
/** How soon news that somebody waits for is looked at again while the watch has yet to show what was written before. */
const UNSHOWN_MS = 50;

/** Writes the statuses of shadow pods, each as late as its news can wait, so that an ordinary pod's is written once. */
export class GuestStatuses {
  readonly #home: Home;
  readonly #state: GuestState;
  readonly #controller: Controller;
  /** Of these, by `namespace/name`, somebody waits to hear. */
  readonly #urgent = new Set<string>();

  constructor(home: Home, state: GuestState) {
    this.#home = home;
    this.#state = state;
    this.#controller = homeController(home, {
      name: "guest-statuses",
      sources: [],
      concurrency: 16,
      backoff: { initial: 50, max: 10_000 },
      reconcile: this.#write,
    });
  }

  /** Has the status written after that time, what comes until then included; without one, when there is nothing else to do. */
  tell(shadow: ShadowPod, afterMs?: number): void {
    const { namespace = "", name = "" } = shadow.metadata;
    if (afterMs !== undefined) this.#urgent.add(keyOf(shadow));
    this.#controller.enqueue({ namespace, name }, afterMs ?? PATIENT_MS);
  }

  run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    return this.#controller.run(stop, abandon);
  }

  readonly #write: Reconcile = async ({ namespace = "", name }, { signal }): Promise<Result> => {
    const shadow = this.#state.shadows.get(namespace, name);
    const isUrgent = this.#urgent.delete(`${namespace}/${name}`);
    if (shadow === undefined || isTerminal(shadow.status?.phase)) return done();
    const memory = this.#state.memoryOf(shadow);
    // Of thousands that wait none is looked at more often than that.
    if (!isUrgent && this.#isBusy(memory)) return againAfter(PATIENT_MS);
    memory.waitsSince = undefined;
    // What was written last is yet to be shown; its coming brings this back, though as something that can wait.
    if (memory.written !== undefined && !isShown(shadow, memory.written)) {
      if (!isUrgent) return done();
      this.#urgent.add(keyOf(shadow));
      return againAfter(UNSHOWN_MS);
    }
    const status = this.#statusOf(shadow, memory);
    if (sameContent(status, shadow.status)) return done();
    const patch = { metadata: { uid: shadow.metadata.uid }, status };
    const options = { subresource: "status", signal };
    try {
      const written = await this.#home.client.patch(ShadowPod, { namespace, name }, "merge", patch, options);
      memory.written = written.metadata.resourceVersion ?? "";
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return done();
      if (isUrgent) this.#urgent.add(keyOf(shadow));
      throw error;
    }
    return done();
  };

  /** Guests come or go, and this one's news is not old: whoever made them all at once may take them back as soon. */
  #isBusy(memory: GuestMemory): boolean {
    const now = this.#home.clock.now();
    memory.waitsSince ??= now;
    return now - this.#state.workedAt < CALM_MS && now - memory.waitsSince < LONGEST_MS;
  }

  #statusOf(shadow: ShadowPod, memory: GuestMemory): ShadowStatus {
    const { namespace = "", name = "" } = shadow.metadata;
    const found = this.#state.pods.get({ namespace, name });
    const pod = found !== undefined && isGuestOf(found, shadow) ? found : undefined;
    const uid = memory.podUid ?? pod?.metadata.uid;
    const { podUid, recreations = 0 } = shadow.status ?? {};
    const isAnother = uid !== undefined && podUid !== undefined && podUid !== uid;
    const verdict = memory.verdict ?? (uid === undefined ? undefined : within);
    return shadowStatus({
      shadow,
      ...(pod && { pod }),
      ...(verdict && { verdict }),
      ...(memory.ended !== undefined && { ended: memory.ended }),
      // A guest that is to go may still finish: it has failed once it is gone.
      ...(memory.lost !== undefined && memory.ended === undefined && pod === undefined && { lost: memory.lost }),
      recreating: pod === undefined && uid !== undefined,
      // Made again by this process, or by an earlier one that could not say so.
      recreations: memory.recreations ?? recreations + (isAnother ? 1 : 0),
      now: this.#home.clock.now(),
    });
  }
}

/** Whether the object is at least as new as a revision. */
function isShown({ metadata }: ShadowPod, resourceVersion: string): boolean {
  return metadata.resourceVersion === resourceVersion || hasPassed(metadata.resourceVersion, resourceVersion);
}
