import type { Logger } from "@fjord/base";
import { type Binaries, which } from "../binaries/find.ts";
import type { BinarySet } from "../binaries/recipes.ts";
import { DEFAULT_MINOR } from "../binaries/versions.ts";
import type { Site } from "../site.ts";
import { startBed } from "../start-bed.ts";
import type { ControlPlaneTarget } from "./target.ts";

/** The binaries that a run needs which judges a control plane. */
export const controlPlaneSets: readonly BinarySet[] = ["control-plane", "conformance"];

export interface ControlPlaneBedOptions {
  readonly target: ControlPlaneTarget;
  /** With `controlPlaneSets`. */
  readonly binaries: Binaries;
  /** How many, all simulated: the suite asks for two at least. */
  readonly nodes: number;
  readonly log?: Logger;
  readonly signal?: AbortSignal;
}

export interface ControlPlaneBed extends AsyncDisposable {
  readonly site: Site;
}

/** The target with nodes on which no container runs: nothing of it needs root. */
export async function startControlPlaneBed(options: ControlPlaneBedOptions): Promise<ControlPlaneBed> {
  const { target, binaries, nodes, log, signal } = options;
  const setpriv = which("setpriv", process.env);
  const bed = await startBed({
    sites: 1,
    kubernetes: target === "microkube" ? "microkube" : DEFAULT_MINOR,
    simulatedNodes: nodes,
    binaries,
    ...(setpriv && { setpriv }),
    ...(log && { log }),
    ...(signal && { signal }),
  });
  return { site: bed.site("site-1"), [Symbol.asyncDispose]: () => bed.stop() };
}
