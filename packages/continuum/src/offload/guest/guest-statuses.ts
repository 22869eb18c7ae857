import { ShadowPod } from "@fjord/api";
import { type Controller, done, isConflict, isNotFound, type Reconcile, type Result, sameContent } from "@fjord/kube";
import { isTerminal } from "@fjord/node/pod-status";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import { type GuestMemory, hasPassed } from "./guest-memory.ts";
import { isGuestOf } from "./guest-pod.ts";
import type { GuestState } from "./guest-state.ts";
import { type ShadowStatus, shadowStatus, type Verdict } from "./shadow-status.ts";

const within: Verdict = { reason: "WithinContract", message: "" };

/** Writes the statuses of shadow pods, each as late as its news can wait, so that an ordinary pod's is written once. */
export class GuestStatuses {
  readonly #home: Home;
  readonly #state: GuestState;
  readonly #controller: Controller;

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

  /** Has the status written after that time: what comes until then is in it too. */
  tell({ metadata: { namespace = "", name = "" } }: ShadowPod, afterMs: number): void {
    this.#controller.enqueue({ namespace, name }, afterMs);
  }

  run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    return this.#controller.run(stop, abandon);
  }

  readonly #write: Reconcile = async ({ namespace = "", name }, { signal }): Promise<Result> => {
    const shadow = this.#state.shadows.get(namespace, name);
    if (shadow === undefined || isTerminal(shadow.status?.phase)) return done();
    const memory = this.#state.memoryOf(shadow);
    // What was written last is yet to be shown; its coming brings this back.
    if (memory.written !== undefined && !isShown(shadow, memory.written)) return done();
    const status = this.#statusOf(shadow, memory);
    if (sameContent(status, shadow.status)) return done();
    const patch = { metadata: { uid: shadow.metadata.uid }, status };
    const options = { subresource: "status", signal };
    try {
      const written = await this.#home.client.patch(ShadowPod, { namespace, name }, "merge", patch, options);
      memory.written = written.metadata.resourceVersion ?? "";
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return done();
  };

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
