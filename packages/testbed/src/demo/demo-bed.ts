import type { Logger } from "@fjord/base";
import type { Bed } from "../bed.ts";
import { which } from "../binaries/find.ts";
import {
  type Binaries,
  type BinarySet,
  describeProgress,
  type Environment,
  ensureBinaries,
} from "../binaries/index.ts";
import { ensureNodePackages, type NodeTools } from "../binaries/node-packages.ts";
import type { Registry } from "../registry.ts";
import { startBed } from "../start-bed.ts";

export interface DemoBedOptions {
  readonly directory: string;
  readonly env: Environment;
  /** 0 is root, without which there are no containers here. */
  readonly uid: number | undefined;
  /** Asks for simulated nodes where real ones could run. */
  readonly simulated: boolean;
  readonly registry: Registry;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly told: (line: string) => void;
}

/** What the demo's sites can be made of here. */
export interface Ground {
  readonly binaries: Binaries;
  /** Absent where nodes are simulated. */
  readonly tools?: NodeTools;
  /** Why no container runs. */
  readonly reason?: string;
}

/** Finds, or gets, what the sites need: real nodes where that is possible, else simulated ones. */
export async function findGround(options: DemoBedOptions): Promise<Ground> {
  const { env, signal, told } = options;
  const progress = (event: Parameters<typeof describeProgress>[0]) => told(describeProgress(event));
  const nodes = await nodeTools(options, progress);
  const sets: BinarySet[] = "tools" in nodes ? ["control-plane", "nodes"] : ["control-plane"];
  return { binaries: await ensureBinaries({ sets, env, progress, signal }), ...nodes };
}

async function nodeTools(
  { env, uid, simulated, signal }: DemoBedOptions,
  progress: Parameters<typeof ensureBinaries>[0]["progress"],
): Promise<{ tools: NodeTools } | { reason: string }> {
  if (simulated) return { reason: "you asked for simulated nodes" };
  if (uid !== 0) return { reason: "containers need root here" };
  try {
    return { tools: await ensureNodePackages({ env, signal, ...(progress && { progress }) }) };
  } catch (error) {
    signal.throwIfAborted();
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Two sites with a node each, which end with this process however it ends. */
export async function startDemoBed(ground: Ground, options: DemoBedOptions): Promise<Bed> {
  const { directory, env, registry, log, signal } = options;
  const { binaries, tools } = ground;
  const setpriv = which("setpriv", env);
  const common = { sites: 2, directory, binaries, registry, log, signal, ...(setpriv && { setpriv }) };
  if (tools === undefined) return startBed({ ...common, simulatedNodes: 1 });
  const { RealNodes } = await import("../nodes/index.ts");
  return startBed({ ...common, nodes: { count: 1, provider: new RealNodes({ binaries, tools, log }) } });
}
