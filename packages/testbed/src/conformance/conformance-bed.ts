import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { type Logger, systemClock } from "@fjord/base";
import type { Bed } from "../bed.ts";
import { type Binaries, which } from "../binaries/find.ts";
import type { NodeTools } from "../binaries/node-packages.ts";
import type { BinarySet } from "../binaries/recipes.ts";
import type { SuitePrograms } from "../binaries/suite-programs.ts";
import { DEFAULT_MINOR } from "../binaries/versions.ts";
import { Authority } from "../certificates.ts";
import { RealNodes } from "../nodes/real-nodes.ts";
import type { Site } from "../site.ts";
import { siteFiles } from "../site-layout.ts";
import { startBed } from "../start-bed.ts";
import { standIns, suiteProgramFiles } from "./stand-ins.ts";
import { type ConformanceTarget, isControlPlane, partsOf } from "./target.ts";

/** The site that is judged. */
const HOME = "site-1";

/** The binaries that a run with containers needs. */
export function conformanceSets(target: ConformanceTarget, network = false): BinarySet[] {
  const sets: BinarySet[] = ["control-plane", "nodes", "conformance", ...(network ? (["network"] as const) : [])];
  return isControlPlane(target) ? [...sets, "sample-apiserver"] : sets;
}

export interface ConformanceBedOptions {
  readonly target: ConformanceTarget;
  /** With the sets of `conformanceSets`. */
  readonly binaries: Binaries;
  readonly tools: NodeTools;
  /** @default 1 */
  readonly nodes?: number;
  /**
   * For specs of networks: programs of images. A border then has two sites behind it, whose ranges are those of the first, and links join all
   * of them.
   */
  readonly programs?: SuitePrograms;
  readonly log?: Logger;
  readonly signal?: AbortSignal;
}

export interface ConformanceBed extends AsyncDisposable {
  readonly bed: Bed;
  readonly site: Site;
  readonly nodes: RealNodes;
}

/** A control plane and nodes with containers, as the target has them, and images under the names that the suite asks for. */
export async function startConformanceBed(options: ConformanceBedOptions): Promise<ConformanceBed> {
  const { target, binaries, tools, nodes: count = 1, programs, log, signal } = options;
  const { kubernetes = DEFAULT_MINOR, kubelet } = partsOf(target);
  const nodes = new RealNodes({ binaries, tools, kubelet, ...(log && { log }) });
  const setpriv = which("setpriv", process.env);
  const isBorder = target === "border";
  const providers = isBorder ? (programs ? ["site-2", "site-3"] : ["site-2"]) : [];
  const bed = await startBed({
    sites: 1 + providers.length,
    overlap: programs !== undefined,
    kubernetes,
    binaries,
    nodes: { count, provider: nodes, ...(isBorder && { sites: providers }) },
    ...(setpriv && { setpriv }),
    ...(log && { log }),
    ...(signal && { signal }),
  });
  const gateways = isBorder && programs ? new (await import("./gateways.ts")).Gateways(bed, nodes) : undefined;
  const end = async () => {
    await bed.stop();
    await gateways?.[Symbol.asyncDispose]();
  };
  try {
    const site = bed.site(HOME);
    for (const name of isBorder ? providers : [HOME]) await loadStandIns(bed.site(name), nodes, options);
    await gateways?.join();
    if (isBorder) {
      const { joinOverBorder } = await import("./border.ts");
      const linked = gateways && { endpoints: gateways.endpoints, network: gateways.networkOf(site) };
      await joinOverBorder(bed, { home: HOME, providers, ...linked });
    }
    await gateways?.start();
    await gateways?.up();
    return { bed, site, nodes, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function loadStandIns(site: Site, nodes: RealNodes, options: ConformanceBedOptions): Promise<void> {
  const { target, binaries, programs, signal } = options;
  const { stdout } = await promisify(execFile)(binaries.path("e2e.test"), ["--list-images"], { signal });
  const wanted = stdout.split("\n").filter((line) => line.includes("/"));
  const authority = await Authority.load(siteFiles(site.layout).pki, "ca");
  const [agnhost, nonewprivs, serving] = await Promise.all([
    readFile(binaries.path("agnhost")),
    readFile(binaries.path("nonewprivs")),
    authority.issue({ commonName: "localhost", dnsNames: ["localhost"], usages: ["server"] }, systemClock.now()),
  ]);
  const sampleApiServer = isControlPlane(target)
    ? {
        program: await readFile(binaries.path("sample-apiserver")),
        etcd: await readFile(binaries.path("etcd")),
      }
    : undefined;
  const parts = {
    agnhost,
    nonewprivs,
    serving,
    ...(sampleApiServer && { sampleApiServer }),
    ...(programs && { programs: suiteProgramFiles(programs) }),
  };
  for (const request of standIns(wanted, parts)) await nodes.loadImage(site, request, signal);
}
