import type { Pod } from "@fjord/kube";
import type { ForgeContext } from "./forge/index.ts";

/** What this process knows of a pod beyond what the caches show. */
export interface PodMemory {
  /** A ShadowPod that was made and that the watch has not shown yet. */
  made?: { readonly uid: string; readonly resourceVersion: string; readonly namespace: string };
  /** Uid of the ShadowPod whose deletion was asked for. */
  deleted?: string;
  /** The guest was still there when its ShadowPod was seen to be gone: its own end will be seen too. */
  witnessed?: boolean;
  /** What the ShadowPod was last changed to, and when. */
  forged?: { readonly digest: string | undefined; readonly resourceVersion: string };
  /** What was last forged, in a word, and of what: most of what is heard of a pod does not change it. */
  wanted?: {
    readonly digest: string | undefined;
    readonly of: Pick<Pod["metadata"], "generation" | "labels" | "annotations">;
    resourceVersion: string | undefined;
    readonly context: ForgeContext;
  };
  /** The pod is being taken from the own API. */
  finished?: boolean;
  /** Since when a twin namespace was waited for. */
  awaitedSince?: number;
  /** Since when it is held until the site has what it expects there. */
  heldSince?: number;
}
