import type { Logger } from "@fjord/base";
import { findBrowser } from "../binaries/browser.ts";
import { ensureBinaries } from "../binaries/ensure.ts";
import { findBinaries } from "../binaries/find.ts";
import { ensureNetworkTools, missingNetworkTools, type NetworkProgram } from "../binaries/network-tools.ts";
import { findNodePackages, thisHost } from "../binaries/node-packages.ts";
import { type BinariesEvent, describeProgress } from "../binaries/progress.ts";
import type { BinarySet } from "../binaries/recipes.ts";
import type { KubernetesMinor } from "../binaries/versions.ts";
import { type PodNetwork, podNetworks } from "./kube-router.ts";
import type { Kubelet } from "./kubelet-command.ts";
import { RealNodes } from "./real-nodes.ts";

/**
 * For node:test's `skip`: false where real nodes can run, else why not. With FJORD_REQUIRE_KUBERNETES=1 root hears it as
 * an error: there a skip would hide that nothing was tested.
 */
export function realNodesSkip(kubernetes?: KubernetesMinor): string | false {
  return demand(obstacles(kubernetes));
}

/** For node:test's `skip`: false where there is a browser for tests of the page, else why not; required as real nodes are. */
export function browserSkip(): string | false {
  if (findBrowser(process.env) !== undefined) return false;
  return demand(["no chromium: `npm run testbed -- binaries --browser` gets it"], "no browser here");
}

/** Path of the browser that tests of the page drive. */
export function testBrowser(): string {
  return findBrowser(process.env) ?? "chromium";
}

function demand(reasons: readonly string[], what = "no real nodes here"): string | false {
  if (reasons.length === 0) return false;
  const reason = `${what}: ${reasons.join("; ")}`;
  if (process.env.FJORD_REQUIRE_KUBERNETES === "1" && process.getuid?.() === 0) {
    throw new Error(`FJORD_REQUIRE_KUBERNETES=1, but ${reason}`);
  }
  return reason;
}

/** For node:test's `skip`: false where metrics-server is at hand, else why not; required as real nodes are. */
export function metricsServerSkip(): string | false {
  return setSkip("metrics-server", "--metrics-server");
}

/** For node:test's `skip`: false where the old kubectl is at hand, else why not; required as real nodes are. */
export function oldKubectlSkip(): string | false {
  return setSkip("old-kubectl", "--old-kubectl");
}

/**
 * For node:test's `skip`: false where packets can cross a link between network namespaces (root, nft, ip and WireGuard as a
 * program) and `more` is there, else why not; required as real nodes are.
 */
export function networkSkip(...more: NetworkProgram[]): string | false {
  const lacking = missingNetworkTools({ env: process.env, programs: ["ip", "nft", ...more] });
  const reasons = [...lacking].map(([name, debianPackage]) => `no ${name} (Debian package ${debianPackage})`);
  if (thisHost().uid !== 0) reasons.push("network namespaces need root");
  return demand(reasons, "no links between network namespaces here") || setSkip("network", "--network");
}

/** Whatever links between network namespaces need is got, where that can be; what cannot be is said. */
export async function ensureNetwork(progress: (line: string) => void, ...more: NetworkProgram[]): Promise<void> {
  const told = (event: BinariesEvent) => progress(describeProgress(event));
  await ensureNetworkTools({ env: process.env, progress: told });
  if (more.length > 0) await ensureNetworkTools({ env: process.env, progress: told, programs: more });
  await ensureBinaries({ env: process.env, sets: ["network"], minors: [], progress: told });
}

/** Path of WireGuard as a program. */
export function wireguardProgram(): string {
  return findBinaries({ env: process.env, sets: ["network"] }).binaries.path("wireguard-go");
}

/** For node:test's `skip`: false where Helm is at hand, else why not. It takes minutes to build, so nothing requires it. */
export function helmSkip(): string | false {
  const { missing } = findBinaries({ env: process.env, sets: ["helm"] });
  return missing.length > 0 && "no Helm on this machine: `npm run testbed -- binaries --helm` gets it";
}

/** For node:test's `skip`: false where Kubernetes' end-to-end suite can run, else why not; required as real nodes are. */
export function conformanceSkip(): string | false {
  return realNodesSkip() || setSkip("conformance", "--conformance");
}

function setSkip(set: BinarySet, flag: string): string | false {
  const { missing } = findBinaries({ env: process.env, sets: [set] });
  const names = missing.map(({ component }) => component.name);
  return demand(
    names.length === 0 ? [] : [`no ${names.join(", ")}: \`npm run testbed -- binaries ${flag}\` gets them`],
  );
}

/** FJORD_TEST_POD_NETWORK: what network pods of real nodes have where a test does not say. */
function podNetworkOf({ FJORD_TEST_POD_NETWORK: wanted = "plain" }: NodeJS.ProcessEnv): PodNetwork {
  const found = podNetworks.find((each) => each === wanted);
  if (found !== undefined) return found;
  throw new Error(`FJORD_TEST_POD_NETWORK cannot be ${wanted}: only ${podNetworks.join(", ")}`);
}

/** For node:test's `skip`: false where kube-router is at hand, else why not. It takes minutes to build, so nothing requires it. */
export function kubeRouterSkip(): string | false {
  const { missing } = findBinaries({ env: process.env, sets: ["kube-router"] });
  return missing.length > 0 && "no kube-router on this machine: `npm run testbed -- binaries --kube-router` gets it";
}

export interface TestNodesOptions {
  kubernetes?: KubernetesMinor;
  /** What runs the pods. @default "kubernetes" */
  kubelet?: Kubelet;
  /** @default by FJORD_TEST_POD_NETWORK, else "plain" */
  podNetwork?: PodNetwork;
  /** For Fjord's node: the bundle to run, inside this repository. @default its source */
  fjordProgram?: string;
  log?: Logger;
}

/** Real nodes for `startTestBed({ nodes: { count, provider } })`. */
export function testNodes(options: TestNodesOptions = {}): RealNodes {
  const { kubernetes, ...rest } = options;
  const tools = findNodePackages({ env: process.env });
  if ("reasons" in tools) throw new Error(tools.reasons.join("; "));
  const { podNetwork = podNetworkOf(process.env) } = options;
  const { binaries } = nodeBinaries(kubernetes, podNetwork === "kube-router" ? ["kube-router"] : []);
  return new RealNodes({ binaries, tools, ...rest, podNetwork });
}

function obstacles(kubernetes?: KubernetesMinor): string[] {
  const packages = findNodePackages({ env: process.env });
  if ("reasons" in packages) return [...packages.reasons];
  const names = nodeBinaries(kubernetes).missing.map(({ component }) => component.name);
  return names.length === 0 ? [] : [`no ${names.join(", ")}: \`npm run testbed -- binaries --nodes\` gets them`];
}

function nodeBinaries(kubernetes?: KubernetesMinor, more: readonly BinarySet[] = []) {
  return findBinaries({
    env: process.env,
    sets: ["control-plane", "nodes", ...more],
    ...(kubernetes && { minors: [kubernetes] }),
  });
}
