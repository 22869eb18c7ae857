import type { Pod } from "@fjord/kube";
import type { Mount } from "../runtime/configuration.ts";

/** What the pod has become on this node, where its volumes and variables depend on that. */
export interface PodFacts {
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
  /** Of the node, for `resourceFieldRef` of what has no limit: thousandths of a processor, bytes. */
  readonly allocatable: Readonly<Record<string, number>>;
}

/** The volumes of this node's pods. Everything is below the pod's directory, and goes with it. */
export interface PodVolumes {
  /** Makes and fills all volumes of a pod. May be repeated. Throws with the words for a FailedMount event. */
  ensure(pod: Pod, facts: PodFacts, signal?: AbortSignal): Promise<void>;
  /** What a container of the pod has mounted, sub-paths resolved; once `ensure` has succeeded. */
  mounts(pod: Pod, containerName: string, facts: PodFacts): Promise<Mount[]>;
  /** Writes again what has changed: ConfigMaps, Secrets, tokens that near their end, labels and annotations. */
  refresh(pod: Pod, facts: PodFacts, signal?: AbortSignal): Promise<void>;
  /** Unmounts and removes all volumes of a pod. May be repeated. */
  remove(podUid: string): Promise<void>;
  /** Reads a small file of one of the pod's emptyDirs: the last parameter of `resolveEnvironment`, for `fileKeyRef`. */
  readonly readFile?: (pod: Pod, volume: string, path: string) => Promise<string>;
}
