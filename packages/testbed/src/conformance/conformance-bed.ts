import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { type Logger, systemClock } from "@fjord/base";
import { Node } from "@fjord/kube";
import type { Bed } from "../bed.ts";
import { type Binaries, which } from "../binaries/find.ts";
import type { NodeTools } from "../binaries/node-packages.ts";
import type { BinarySet } from "../binaries/recipes.ts";
import { DEFAULT_MINOR } from "../binaries/versions.ts";
import { Authority } from "../certificates.ts";
import { RealNodes } from "../nodes/real-nodes.ts";
import type { Site } from "../site.ts";
import { siteFiles } from "../site-layout.ts";
import { startBed } from "../start-bed.ts";
import { waitFor } from "../wait.ts";
import { standIns } from "./stand-ins.ts";
import { type ConformanceTarget, isControlPlane, partsOf } from "./target.ts";

/** The binaries that a run with containers needs. */
export function conformanceSets(target: ConformanceTarget): BinarySet[] {
  const sets: BinarySet[] = ["control-plane", "nodes", "conformance"];
  return isControlPlane(target) ? [...sets, "sample-apiserver"] : sets;
}

export interface ConformanceBedOptions {
  readonly target: ConformanceTarget;
  /** With the sets of `conformanceSets`. */
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

/** A control plane and nodes with containers, as the target has them, and images under the names that the suite asks for. */
export async function startConformanceBed(options: ConformanceBedOptions): Promise<ConformanceBed> {
  const { target, binaries, tools, nodes: count = 1, log, signal } = options;
  const { kubernetes = DEFAULT_MINOR, kubelet } = partsOf(target);
  const nodes = new RealNodes({ binaries, tools, kubelet, ...(log && { log }) });
  const setpriv = which("setpriv", process.env);
  const isBorder = target === "border";
  const bed = await startBed({
    sites: isBorder ? 2 : 1,
    kubernetes,
    binaries,
    nodes: { count, provider: nodes, ...(isBorder && { sites: [PROVIDER] }) },
    ...(setpriv && { setpriv }),
    ...(log && { log }),
    ...(signal && { signal }),
  });
  try {
    const site = bed.site("site-1");
    await loadStandIns(isBorder ? bed.site(PROVIDER) : site, nodes, options);
    if (isBorder) await joinOverBorder(bed);
    return { bed, site, nodes, [Symbol.asyncDispose]: () => bed.stop() };
  } catch (error) {
    await bed.stop();
    throw error;
  }
}

/** Has the nodes, where a border is between them and the site that is judged. */
const PROVIDER = "site-2";

/** Gives the first site a virtual node for the second one, and lets all its namespaces extend there. */
async function joinOverBorder(bed: Bed): Promise<void> {
  const { Continuum } = await import("../agents/index.ts");
  const { GUEST_PRIVILEGES, newObject, OffloadingRule, Peering, VirtualNode } = await import("@fjord/api");
  const continuum = new Continuum(bed);
  // Specs ask for their node's network, paths and processes, and a plain site gives them.
  await continuum.startAgents({ flags: GUEST_PRIVILEGES.map((each) => `--guest-privilege=${each}`), timeout: 120_000 });
  await continuum.share(PROVIDER);
  await continuum.peer("site-1", PROVIDER);
  await using client = continuum.client("site-1");
  const rule = newObject(OffloadingRule, {
    metadata: { name: "everything" },
    spec: { namespaceSelector: {}, template: { pods: "Remote" } },
  });
  await client.create(OffloadingRule, rule);
  // The suite takes only nodes without taints for nodes, and here there are no others that the taint would keep apart.
  await client.patch(Peering, { name: PROVIDER }, "merge", { spec: { virtualNode: { tainted: false } } });
  // Once it is not wanted it is not put back.
  const isBare = async () => {
    const { spec } = await client.get(VirtualNode, { name: PROVIDER });
    if (spec.tainted) return false;
    const node = await client.patch(Node, { name: PROVIDER }, "merge", { spec: { taints: null } });
    return !node.spec?.taints?.length;
  };
  await waitFor(isBare, { clock: systemClock, timeout: 30_000, interval: 200 });
}

async function loadStandIns(site: Site, nodes: RealNodes, options: ConformanceBedOptions): Promise<void> {
  const { target, binaries, signal } = options;
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
  const parts = { agnhost, nonewprivs, serving, ...(sampleApiServer && { sampleApiServer }) };
  for (const request of standIns(wanted, parts)) await nodes.loadImage(site, request, signal);
}
