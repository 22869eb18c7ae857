import type { Pod } from "@fjord/kube";

/**
 * The pods that are bound to this node. While the API answers, they are its; while it does not, they are what the local
 * store last had, so that a node that starts alone runs them. A pod leaves only when the API has said that it is gone.
 */
export interface PodSource {
  /** Resolves once the pods are known, from the API or from the store. */
  started(signal?: AbortSignal): Promise<void>;
  get(uid: string): Pod | undefined;
  list(): readonly Pod[];
  /** True while the list is the API's: only then is a container of an unknown pod an orphan for certain. */
  readonly isCurrent: boolean;
  /** Tells the uid of each pod that came, changed or went. The function returned ends it. */
  onChange(listener: (podUid: string) => void): () => void;
}
