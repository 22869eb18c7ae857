import { aborted, type Clock } from "@fjord/base";
import { type Pod, sameContent } from "@fjord/kube";
import { isTerminal, podRequests } from "@fjord/node/pod-status";
import { formatAmounts } from "../../market/index.ts";
import type { OffloadedPods } from "../../offloaded-pods.ts";

const ONE_POD = 1_000_000_000n;
/** As many as the VirtualNode's status takes. */
const MOST = 12;

/** What the pods on a node ask for together, as the scheduler counts: those that have ended take nothing. */
export function allocatedBy(pods: readonly Pod[]): Record<string, string> {
  // Of what nodes are shown with, nothing is an amount too.
  const total = new Map<string, bigint>([
    ["pods", 0n],
    ["cpu", 0n],
    ["memory", 0n],
  ]);
  for (const pod of pods) {
    if (isTerminal(pod.status?.phase)) continue;
    total.set("pods", (total.get("pods") ?? 0n) + ONE_POD);
    for (const [name, amount] of podRequests(pod)) total.set(name, (total.get(name) ?? 0n) + amount);
  }
  return formatAmounts(new Map([...total].slice(0, MOST)));
}

export interface AllocatedAmountsOptions {
  readonly pods: OffloadedPods;
  /** Names of the nodes to count for. */
  readonly nodes: () => readonly string[];
  readonly clock: Clock;
  /** Told when a node's amounts are others. */
  readonly onChange: (node: string) => void;
}

const SOON_MS = 1_000;
const PAUSE_MS = 5_000;

/** Counts what pods ask for, at most every few seconds however many come and go. */
export class AllocatedAmounts {
  readonly #options: AllocatedAmountsOptions;
  readonly #amounts = new Map<string, Record<string, string>>();
  readonly #stale = new Set<string>();
  #countedAt = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(options: AllocatedAmountsOptions) {
    this.#options = options;
  }

  /** Undefined until they were counted. */
  of(node: string): Record<string, string> | undefined {
    return this.#amounts.get(node);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods, nodes } = this.#options;
    const release = pods.onChange((namespace, name) => {
      const node = pods.get(namespace, name)?.node.name;
      // A pod that is gone does not say where it was.
      for (const each of node === undefined ? nodes() : [node]) this.#stale.add(each);
      this.#countSoon();
    });
    await aborted(signal);
    release();
    this.#cancel?.();
  }

  #countSoon(): void {
    const { clock } = this.#options;
    this.#cancel ??= clock.after(Math.max(SOON_MS, this.#countedAt + PAUSE_MS - clock.now()), () => {
      this.#cancel = undefined;
      this.#countedAt = clock.now();
      this.#count();
    });
  }

  #count(): void {
    const { pods, onChange, nodes } = this.#options;
    const live = new Set(nodes());
    for (const node of this.#amounts.keys()) if (!live.has(node)) this.#amounts.delete(node);
    for (const node of this.#stale) {
      if (!live.has(node)) continue;
      const amounts = allocatedBy(pods.onNode(node).map(({ pod }) => pod));
      if (sameContent(amounts, this.#amounts.get(node))) continue;
      this.#amounts.set(node, amounts);
      onChange(node);
    }
    this.#stale.clear();
  }
}
