import type { Pod } from "@fjord/kube";
import { isPodFinished, isPodTerminating, timeOf } from "../workload/pod-state.ts";

/** How many pods that have ended are kept for people to look at. */
export const MOST_FINISHED = 12_500;

export interface Collection {
  /** Bound to nodes that are not there. */
  readonly orphans: readonly Pod[];
  /** Deleted before they had a node: nobody else will end them. */
  readonly unscheduled: readonly Pod[];
  readonly surplus: readonly Pod[];
}

/** Pods that nobody but the collector will ever delete. */
export function collectionOf(
  pods: readonly Pod[],
  hasNode: (name: string) => boolean,
  mostFinished = MOST_FINISHED,
): Collection {
  const finished = pods.filter(isPodFinished);
  const created = ({ metadata }: Pod) => timeOf(metadata.creationTimestamp) ?? 0;
  const excess = finished.length - mostFinished;
  return {
    orphans: pods.filter(({ spec }) => spec?.nodeName && !hasNode(spec.nodeName)),
    unscheduled: pods.filter((pod) => isPodTerminating(pod) && !pod.spec?.nodeName),
    surplus: excess > 0 ? finished.toSorted((a, b) => created(a) - created(b)).slice(0, excess) : [],
  };
}
