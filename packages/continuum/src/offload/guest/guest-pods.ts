import { CONSUMER_LABEL, type GuestPrivilege, type ShadowPod } from "@fjord/api";
import { type Controller, type Request, type Runnable, requestFor, watches } from "@fjord/kube";
import type { ResourceAmounts } from "@fjord/node/pod-status";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import type { LiveContracts } from "../../live-contracts.ts";
import type { SeenWrite } from "./guest-hints.ts";
import { GuestLife } from "./guest-life.ts";
import { GuestState } from "./guest-state.ts";
import { GuestStatuses } from "./guest-statuses.ts";

export interface GuestPodsOptions {
  readonly home: Home;
  readonly contracts: LiveContracts;
  /** What the owner lets guests do beyond Kubernetes' baseline. @default nothing */
  readonly allowed?: readonly GuestPrivilege[];
  /**
   * How long after the end of its grace a pod may still be there before its node is asked about, in milliseconds.
   * @default 5_000
   */
  readonly givenUpMs?: number;
  /** How long a consumer may evict the pods of a drained contract itself, by its own budgets. @default 30000 */
  readonly drainGraceMs?: number;
  /** How many guests are worked on at once. @default 16 */
  readonly concurrency?: number;
}

/** The provider's side of pods: makes those that shadow pods ask for, within their contracts, and keeps them there. */
export class GuestPods implements Runnable {
  readonly name = "guest pods";
  readonly needsLeaderElection = true;
  readonly #options: GuestPodsOptions;
  readonly #state: GuestState;
  readonly #statuses: GuestStatuses;
  readonly #controller: Controller;
  #isLooking = false;

  constructor(options: GuestPodsOptions) {
    this.#options = options;
    const { home, contracts, concurrency = 16 } = options;
    const { caches } = home;
    const state = new GuestState({ caches, contracts, onRoom: () => this.#lookForRoom() });
    const statuses = new GuestStatuses(home, state);
    const life = new GuestLife({ ...options, state, tell: (shadow, afterMs) => statuses.tell(shadow, afterMs) });
    this.#state = state;
    this.#statuses = statuses;
    this.#controller = homeController(home, {
      name: "guest-pods",
      concurrency,
      backoff: { initial: 50, max: 10_000 },
      reconcile: life.reconcile,
      sources: [
        watches(state.shadowCache),
        watches(state.pods),
        watches(state.namespaces, ({ metadata }) => this.#shadowsIn(metadata.name ?? "")),
        watches(state.contractCache, () => []),
      ],
    });
  }

  /** Takes a write over that the proxy has passed on, ahead of the watch. */
  see(write: SeenWrite): void {
    if (!this.#state.shadows.see(write)) return;
    const name = write.name || (write.body as ShadowPod).metadata.name || "";
    this.#controller.enqueue({ namespace: write.namespace, name });
  }

  /** What guests take under a contract and those that it superseded. */
  used(contract: string): ResourceAmounts {
    return this.#state.used(contract);
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    this.#state.ledSince = this.#options.home.client.serverClock.now();
    const release = [
      this.#state.follow(),
      this.#options.contracts.onChange((consumer) => this.#contractsChanged(consumer)),
    ];
    try {
      await Promise.all([this.#controller.run(stop, abandon), this.#statuses.run(stop, abandon)]);
    } finally {
      for (const each of release) each();
    }
  }

  #contractsChanged(consumer: string): void {
    for (const pod of this.#state.pods.list()) {
      if (pod.metadata.labels?.[CONSUMER_LABEL] === consumer) this.#controller.enqueue(requestFor(pod));
    }
    this.#lookForRoom();
  }

  /** Something may fit now that did not: all that waits is looked at again, the oldest first. */
  #lookForRoom(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#options.home.clock.after(0, () => {
      this.#isLooking = false;
      for (const shadow of this.#state.waiting()) this.#controller.enqueue(requestFor(shadow));
    });
  }

  /** A namespace may be known only after shadow pods in it, those included that the proxy has just seen. */
  *#shadowsIn(namespace: string): Iterable<Request> {
    for (const shadow of this.#state.shadowCache.list(namespace)) yield requestFor(shadow);
    for (const shadow of this.#state.waiting()) if (shadow.metadata.namespace === namespace) yield requestFor(shadow);
  }
}
