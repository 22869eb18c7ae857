export { ensureBrowser, findBrowser } from "./browser.ts";
export { cacheDirectory, type Scrutiny } from "./cache.ts";
export type { ReleaseSites } from "./download.ts";
export { type EnsureOptions, ensureBinaries } from "./ensure.ts";
export { ensurePrograms } from "./ensure-programs.ts";
export * from "./errors.ts";
export {
  type Attempt,
  Binaries,
  type Binary,
  type Findings,
  type FindOptions,
  findBinaries,
  type Missing,
  type Source,
} from "./find.ts";
export { ensureNetworkTools, missingNetworkTools, type NetworkProgram } from "./network-tools.ts";
export {
  CNI_PLUGINS,
  type EnsureNodeOptions,
  ensureNodePackages,
  type FindNodeOptions,
  findNodePackages,
  type NodeHost,
  type NodeObstacles,
  type NodeProgram,
  type NodeTools,
} from "./node-packages.ts";
export type { Environment, Platform } from "./platform.ts";
export { type BinariesEvent, describeProgress, type Progress } from "./progress.ts";
export type { BinarySet, ComponentName } from "./recipes.ts";
export { ensureSuitePrograms, findSuitePrograms, type SuiteProgram, type SuitePrograms } from "./suite-programs.ts";
export {
  DEFAULT_MINOR,
  isKubernetesMinor,
  KUBERNETES,
  KUBERNETES_MINORS,
  type KubernetesMinor,
  minorsOf,
  nodeMinorsOf,
  type Substrate,
} from "./versions.ts";
