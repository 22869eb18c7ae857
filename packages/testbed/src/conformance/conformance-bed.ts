import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { type Logger, systemClock } from "@fjord/base";
import type { Bed } from "../bed.ts";
import { type Binaries, which } from "../binaries/find.ts";
import type { NodeTools } from "../binaries/node-packages.ts";
import type { BinarySet } from "../binaries/recipes.ts";
import { Authority } from "../certificates.ts";
import { RealNodes } from "../nodes/real-nodes.ts";
import type { Site } from "../site.ts";
import { siteFiles } from "../site-layout.ts";
import { startBed } from "../start-bed.ts";
import { standIns } from "./stand-ins.ts";
import { type ConformanceTarget, kubeletOfTarget } from "./target.ts";

/** The binaries that a run needs. */
export const conformanceSets: readonly BinarySet[] = ["control-plane", "nodes", "conformance"];

export interface ConformanceBedOptions {
  readonly target: ConformanceTarget;
  /** With `conformanceSets`. */
  readonly binaries: Binaries;
  readonly tools: NodeTools;
  /** @default 1 */
  readonly nodes?: number;
  readonly log?: Logger;
  readonly signal?: AbortSignal;
}

export interface ConformanceBed extends AsyncDisposable {
  readonly bed: Bed;
  readonly site: Site;
  readonly nodes: RealNodes;
}

/** A control plane whose only nodes are the target's, with images under the names that the suite asks for. */
export async function startConformanceBed(options: ConformanceBedOptions): Promise<ConformanceBed> {
  const { target, binaries, tools, nodes: count = 1, log, signal } = options;
  const nodes = new RealNodes({ binaries, tools, kubelet: kubeletOfTarget(target), ...(log && { log }) });
  const setpriv = which("setpriv", process.env);
  const bed = await startBed({
    sites: 1,
    binaries,
    nodes: { count, provider: nodes },
    ...(setpriv && { setpriv }),
    ...(log && { log }),
    ...(signal && { signal }),
  });
  try {
    const site = bed.site("site-1");
    await loadStandIns(site, nodes, options);
    return { bed, site, nodes, [Symbol.asyncDispose]: () => bed.stop() };
  } catch (error) {
    await bed.stop();
    throw error;
  }
}

async function loadStandIns(site: Site, nodes: RealNodes, { binaries, signal }: ConformanceBedOptions): Promise<void> {
  const { stdout } = await promisify(execFile)(binaries.path("e2e.test"), ["--list-images"], { signal });
  const wanted = stdout.split("\n").filter((line) => line.includes("/"));
  const authority = await Authority.load(siteFiles(site.layout).pki, "ca");
  const [agnhost, nonewprivs, serving] = await Promise.all([
    readFile(binaries.path("agnhost")),
    readFile(binaries.path("nonewprivs")),
    authority.issue({ commonName: "localhost", dnsNames: ["localhost"], usages: ["server"] }, systemClock.now()),
  ]);
  for (const request of standIns(wanted, { agnhost, nonewprivs, serving }))
    await nodes.loadImage(site, request, signal);
}
