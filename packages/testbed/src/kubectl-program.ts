import { findBinaries } from "./binaries/find.ts";
import type { KubernetesMinor } from "./binaries/versions.ts";

/** A kubectl of one of the minors that sites have, or the oldest that people may use with the newest of them. */
export type KubectlVersion = KubernetesMinor | "old";

const files = new Map<KubectlVersion, string>();

/** Where that kubectl is. */
export function kubectlProgram(version: KubectlVersion): string {
  const known = files.get(version) ?? find(version);
  files.set(version, known);
  return known;
}

function find(version: KubectlVersion): string {
  const { env } = process;
  if (version === "old") return findBinaries({ env, sets: ["old-kubectl"] }).binaries.path("old-kubectl");
  return findBinaries({ env, minors: [version] }).binaries.path("kubectl", version);
}
