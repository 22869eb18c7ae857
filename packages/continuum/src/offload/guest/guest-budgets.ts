import { CONSUMER_LABEL } from "@fjord/api";
import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import {
  type Cache,
  ifNotFound,
  type KubeClient,
  type LabelSelector,
  matchesSelector,
  type Node,
  Pod,
  PodDisruptionBudget,
  type Runnable,
} from "@fjord/kube";
import { isTerminal } from "@fjord/node/pod-status";
import { durationMs } from "../../duration.ts";

export interface GuestBudgetsOptions {
  readonly client: Pick<KubeClient, "list" | "delete">;
  /** The nodes that take no new pods. */
  readonly cordoned: Pick<Cache<Node>, "list">;
  /** How long budgets of guests may hold up the drain of a node, as the owner says now. */
  readonly patience: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often budgets are looked at while a node is cordoned. */
const LOOK_MS = 5_000;

/**
 * Keeps consumers' disruption budgets from holding up the owner's work for ever: where a node has been cordoned for longer than the
 * owner's patience, those that let none of its guests go are removed, and none is taken in their namespaces until it is done.
 */
export class GuestBudgets implements Runnable {
  readonly name = "guest budgets";
  /** Each agent's proxy asks its own. */
  readonly needsLeaderElection = false;
  readonly #options: GuestBudgetsOptions;
  /** By name of a node: since when it has been seen cordoned. */
  readonly #since = new Map<string, number>();
  #released: ReadonlySet<string> = new Set();

  constructor(options: GuestBudgetsOptions) {
    this.#options = options;
  }

  /** Whether budgets in the twin namespace are to be kept. */
  hold(namespace: string): boolean {
    return !this.#released.has(namespace);
  }

  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!stop.aborted) {
      await this.look(stop).catch((error: unknown) => {
        if (!stop.aborted) logger.warn("guests' budgets could not be looked at", { error: describeError(error) });
      });
      await sleep(clock, LOOK_MS, stop).catch(() => {});
    }
  }

  async look(signal?: AbortSignal): Promise<void> {
    const guests = (await Promise.all(this.#overdue().map((node) => this.#guestsOn(node, signal)))).flat();
    this.#released = new Set(guests.map(({ metadata }) => metadata.namespace ?? ""));
    for (const namespace of this.#released) {
      const own = guests.filter(({ metadata }) => metadata.namespace === namespace);
      await this.#release(namespace, own, signal);
    }
  }

  #overdue(): string[] {
    const { cordoned, clock, patience } = this.#options;
    const now = clock.now();
    const latest = now - durationMs(patience());
    const names = new Set(cordoned.list().map(({ metadata }) => metadata.name ?? ""));
    for (const name of this.#since.keys()) if (!names.has(name)) this.#since.delete(name);
    for (const name of names) if (!this.#since.has(name)) this.#since.set(name, now);
    return [...this.#since].filter(([, since]) => since <= latest).map(([name]) => name);
  }

  async #guestsOn(node: string, signal?: AbortSignal): Promise<Pod[]> {
    const { items } = await this.#options.client.list(Pod, {
      labelSelector: CONSUMER_LABEL,
      fieldSelector: `spec.nodeName=${node}`,
      omitManagedFields: true,
      ...(signal && { signal }),
    });
    return items.filter(({ status }) => !isTerminal(status?.phase));
  }

  async #release(namespace: string, guests: readonly Pod[], signal?: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    const { items } = await client.list(PodDisruptionBudget, { namespace, ...(signal && { signal }) });
    for (const { metadata, spec, status } of items) {
      const { selector } = spec ?? {};
      const keeps = ({ metadata: { labels } }: Pod) =>
        selector !== undefined && matchesSelector(selector as LabelSelector, labels);
      if ((status?.disruptionsAllowed ?? 0) > 0 || !guests.some(keeps)) continue;
      const { name = "", uid = "" } = metadata;
      await client
        .delete(PodDisruptionBudget, { namespace, name }, { preconditions: { uid }, ...(signal && { signal }) })
        .catch(ifNotFound);
      logger.info("a guest's budget has held up a drain for long enough", { namespace, budget: name });
    }
  }
}
