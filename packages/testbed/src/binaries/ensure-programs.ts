import { type EnsureOptions, ensureBinaries } from "./ensure.ts";
import type { Binaries } from "./find.ts";
import { ensureNetworkTools } from "./network-tools.ts";
import { ensureNodePackages } from "./node-packages.ts";

/** All that beds of these sets run: binaries, and the machine's packages where nodes or links are among them. */
export async function ensurePrograms(options: EnsureOptions): Promise<Binaries> {
  const { env, progress, signal, sets = [] } = options;
  const binaries = await ensureBinaries(options);
  const around = { env, ...(progress && { progress }), ...(signal && { signal }) };
  if (sets.includes("nodes")) await ensureNodePackages(around);
  if (sets.includes("network")) await ensureNetworkTools(around);
  return binaries;
}
