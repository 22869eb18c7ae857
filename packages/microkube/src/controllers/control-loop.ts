import type { Clock, Logger, Random } from "@fjord/base";
import type { EventRecorder, KubeClient, Runnable, SharedCaches } from "@fjord/kube";

/** What every controller gets. It is a client of the API as on any cluster, and runs on a real one too. */
export interface ControlMeans {
  readonly client: KubeClient;
  /** One cache per kind for all controllers and the scheduler of a process. */
  readonly caches: SharedCaches;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Makes one controller: `deploymentController(means)`. */
export type ControlLoop = (means: ControlMeans) => Runnable;
