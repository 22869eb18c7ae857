import type { Logger } from "@fjord/base";
import type { Bed } from "./bed.ts";
import { findBinaries, which } from "./binaries/find.ts";
import type { BinarySet } from "./binaries/recipes.ts";
import {
  DEFAULT_MINOR,
  isKubernetesMinor,
  KUBERNETES_MINORS,
  type KubernetesMinor,
  minorsOf,
  type Substrate,
} from "./binaries/versions.ts";
import type { KubectlVersion } from "./kubectl-program.ts";
import { oldKubectlSkip } from "./nodes/testing.ts";
import type { Site } from "./site.ts";
import { type IpFamilies, ipFamilies } from "./site-layout.ts";
import { type BedOptions, startBed } from "./start-bed.ts";

export type { KubernetesMinor } from "./binaries/versions.ts";
export { type KubectlVersion, kubectlProgram } from "./kubectl-program.ts";
export { allowInotify } from "./nodes/inotify.ts";
export { type MetricsServerOptions, startMetricsServer } from "./nodes/metrics-server.ts";
export { type ProcessNodeOptions, startProcessNode } from "./nodes/process-node.ts";
export {
  browserSkip,
  conformanceSkip,
  ensureNetwork,
  helmSkip,
  metricsServerSkip,
  networkSkip,
  oldKubectlSkip,
  realNodesSkip,
  type TestNodesOptions,
  testBrowser,
  testNodes,
  wireguardProgram,
} from "./nodes/testing.ts";
export { freePort } from "./ports.ts";
export { testedFjord } from "./release/tested-program.ts";

/**
 * For node:test's `skip`: false where real Kubernetes can run, else why not and which command changes that. With
 * FJORD_REQUIRE_KUBERNETES=1 it throws instead: there a skip would hide that nothing was tested.
 */
export function kubernetesSkip(version?: KubernetesMinor): string | false {
  const { missing } = findBinaries({ env: process.env, ...(version && { minors: [version] }) });
  if (missing.length === 0) return false;
  const names = missing.map(({ component }) => component.name).join(", ");
  const which = version === undefined ? "" : ` of Kubernetes ${version}`;
  const reason = `no ${names}${which} on this machine: \`npm run testbed -- binaries\` gets them`;
  if (process.env.FJORD_REQUIRE_KUBERNETES === "1") throw new Error(`FJORD_REQUIRE_KUBERNETES=1, but ${reason}`);
  return reason;
}

/** The versions of Kubernetes for tests that hold on each: the newest, or, where FJORD_TEST_MINORS is "all", every one. */
export function testedMinors(
  { FJORD_TEST_MINORS: wanted }: NodeJS.ProcessEnv = process.env,
): readonly KubernetesMinor[] {
  return wanted === "all" ? KUBERNETES_MINORS : [DEFAULT_MINOR];
}

/** The kubectls for tests that hold with each: the newest and the oldest that people may use, or, where FJORD_TEST_MINORS is "all", every one. */
export function testedKubectls(): readonly KubectlVersion[] {
  return [...testedMinors(), "old"];
}

export interface TestSiteOptions {
  kubernetes?: Substrate;
  /** "apiserver" starts sooner; "all" has a controller manager and a scheduler too. @default "apiserver" */
  components?: "apiserver" | "all";
  log?: Logger;
}

export interface TestSite extends AsyncDisposable {
  /** Path of the administrator's kubeconfig file. */
  readonly kubeconfig: string;
  readonly config: Site["config"];
  /** The site itself, to pause, kill and restart its processes. */
  readonly site: Site;
  stop(): Promise<void>;
}

/** One real Kubernetes API for a test. It ends with the test's process, however that ends. */
export async function startTestSite(options: TestSiteOptions = {}): Promise<TestSite> {
  const bed = await startTestBed({ sites: 1, components: "apiserver", ...options });
  const site = bed.sites[0] as Site;
  return {
    kubeconfig: site.kubeconfig,
    config: site.config,
    site,
    stop: () => bed.stop(),
    [Symbol.asyncDispose]: () => bed.stop(),
  };
}

/** Several sites for a test, and the paths between them. They end with the test's process, however that ends. */
export function startTestBed(options: Omit<BedOptions, "binaries" | "detached" | "setpriv"> = {}): Promise<Bed> {
  const kubernetes = [options.kubernetes ?? substratesOf(process.env) ?? DEFAULT_MINOR].flat();
  const minors = minorsOf(kubernetes);
  const sets: BinarySet[] = options.simulator === "kwok" ? ["control-plane", "kwok"] : ["control-plane"];
  const { binaries } = findBinaries({ env: process.env, minors, sets });
  const setpriv = which("setpriv", process.env);
  const families = options.families ?? familiesOf(process.env);
  return startBed({ ...options, families, kubernetes, binaries, ...(setpriv && { setpriv }) });
}

/** FJORD_TEST_FAMILIES: what addresses pods of real nodes have where a test does not say. */
function familiesOf({ FJORD_TEST_FAMILIES: wanted = "ipv4" }: NodeJS.ProcessEnv): IpFamilies {
  const found = ipFamilies.find((each) => each === wanted);
  if (found !== undefined) return found;
  throw new Error(`FJORD_TEST_FAMILIES cannot be ${wanted}: only ${ipFamilies.join(", ")}`);
}

/** What the sites of a bed run that has to name it: `usual`, or where somebody wants something else, that. */
export function testSubstrates(usual: readonly Substrate[]): readonly Substrate[] {
  return substratesOf(process.env) ?? usual;
}

/** FJORD_TEST_KUBERNETES: what beds run where a test does not say, as in `microkube` or `1.36,microkube`, taken in turn. */
function substratesOf({ FJORD_TEST_KUBERNETES: wanted = "" }: NodeJS.ProcessEnv): Substrate[] | undefined {
  if (wanted === "") return undefined;
  return wanted.split(",").map((one) => {
    if (one === "microkube" || isKubernetesMinor(one)) return one;
    throw new Error(`FJORD_TEST_KUBERNETES cannot have ${one}: only microkube and versions of Kubernetes, as in 1.36`);
  });
}

/** For node:test's `skip`: false where that kubectl is at hand, else why not. */
export function kubectlSkip(version: KubectlVersion): string | false {
  return version === "old" ? oldKubectlSkip() : kubernetesSkip(version);
}
