import type { Clock, Logger, Random } from "@fjord/base";
import type { EventRecorder, KubeClient, Metrics, SharedCaches } from "@fjord/kube";
import type { SiteIdentity } from "./site-identity.ts";

/** Time, chance, a log and counters: passed to everything that lives long. */
export interface Means {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

/** The own site, as every domain sees it. */
export interface Home extends Means {
  readonly identity: SiteIdentity;
  readonly client: KubeClient;
  /** One cache for each kind and scope of the own API, whoever asks. Runs before controllers do. */
  readonly caches: SharedCaches;
  readonly recorder: EventRecorder;
  /** Where the agent keeps its Secrets. */
  readonly namespace: string;
}
