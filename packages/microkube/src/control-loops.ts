import { type Clock, describeError, type Logger, type Random } from "@fjord/base";
import { clusterConfig, EventRecorder, KubeClient, Manager, SharedCaches } from "@fjord/kube";
import {
  type Authority,
  certificateController,
  type ServiceAccountTokens,
  secretTokenController,
} from "./authentication/index.ts";
import type { Caller } from "./cluster.ts";
import { controlLoops } from "./controllers/index.ts";
import { scheduler } from "./scheduler/index.ts";
import { type ApiServer, LocalTransport } from "./server/index.ts";

export interface ControlOptions {
  readonly api: ApiServer;
  readonly rootCa: string;
  /** Signs what is asked for and approved. */
  readonly authority: Authority;
  /** Issues what Secrets for service accounts hold. */
  readonly tokens: ServiceAccountTokens;
  /** The range of pods' addresses, of which nodes get their parts. */
  readonly podCidr?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** @default true */
  readonly controllers?: boolean;
  /** @default true */
  readonly scheduler?: boolean;
}

const masters = ["system:masters", "system:authenticated"];
const CONTROLLER_MANAGER: Caller = { user: "system:kube-controller-manager", groups: masters };
const SCHEDULER: Caller = { user: "system:kube-scheduler", groups: masters };

/** Runs the controllers and the scheduler, as clients of the API without a connection; returns what ends them. */
export function runControlLoops(options: ControlOptions): () => Promise<void> {
  const { api, rootCa, podCidr, clock, random, logger } = options;
  const stop = new AbortController();
  const means = { clock, random, logger };
  const controllersClient = localClient(api, CONTROLLER_MANAGER, "kube-controller-manager", clock);
  const schedulerClient = localClient(api, SCHEDULER, "kube-scheduler", clock);
  const caches = new SharedCaches({ ...means, client: controllersClient });
  const manager = new Manager({ clock, logger, gracePeriodMs: 1_000 });
  const add = (client: KubeClient, component: string, loops: ReturnType<typeof controlLoops>) => {
    const recorder = new EventRecorder({ ...means, client, component });
    manager.add(recorder);
    for (const loop of loops) manager.add(loop({ ...means, client, caches, recorder }));
  };
  if (options.controllers !== false) {
    const loops = controlLoops({ rootCa, ...(podCidr !== undefined && { podCidr }) });
    const { authority, tokens } = options;
    const credentials = [certificateController(authority), secretTokenController({ tokens, rootCa })];
    add(controllersClient, "controllermanager", [...loops, ...credentials]);
  }
  if (options.scheduler !== false) add(schedulerClient, "default-scheduler", [scheduler()]);
  manager.addCache(caches);
  const running = manager.run(stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) logger.error("the control loops have ended", { error: describeError(error) });
  });
  return async () => {
    stop.abort();
    await running;
    await Promise.all([controllersClient.close(), schedulerClient.close()]);
  };
}

/** A client in the same process as the server. */
export function localClient(api: ApiServer, caller: Caller, userAgent: string, clock: Clock): KubeClient {
  const transport = new LocalTransport({ api, caller, userAgent, clock });
  return new KubeClient(clusterConfig({ server: transport.server }), { transport });
}
