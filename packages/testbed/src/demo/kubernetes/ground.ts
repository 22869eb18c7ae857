import {
  type Binaries,
  describeProgress,
  type Environment,
  ensureBinaries,
  ensureNetworkTools,
  ensureNodePackages,
  type NodeTools,
} from "../../binaries/index.ts";
import { DemoNoContainers } from "../errors.ts";

export interface GroundOptions {
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** Hears how far it is. */
  readonly told: (line: string) => void;
}

/** What real clusters with containers are made of. */
export interface Ground {
  readonly binaries: Binaries;
  readonly tools: NodeTools;
}

/** Finds it, or gets it: that takes its time where nothing of it is there yet. */
export async function findGround({ env, signal, told }: GroundOptions): Promise<Ground> {
  const progress = (event: Parameters<typeof describeProgress>[0]) => told(describeProgress(event));
  const tools = await ensureNodePackages({ env, signal, progress }).catch((error: unknown) => {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw new DemoNoContainers({ reason }, { cause: error });
  });
  await ensureNetworkTools({ env, signal, progress, programs: ["ip", "nft", "wg"] });
  return {
    binaries: await ensureBinaries({ sets: ["control-plane", "nodes", "network"], env, progress, signal }),
    tools,
  };
}
