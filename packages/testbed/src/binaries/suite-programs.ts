import { join } from "node:path";
import { systemClock } from "@fjord/base";
import { cacheDirectory } from "./cache.ts";
import { SuiteProgramsUnavailable } from "./errors.ts";
import { which } from "./find.ts";
import { withLock } from "./lock.ts";
import { type EnsureNodeOptions, type FindNodeOptions, installPackages, thisHost } from "./node-packages.ts";
import type { DebianPackage } from "./versions.ts";

/** A program that images of the end-to-end suite have, and that specs of networks run there, by a shell that takes none for its own. */
export type SuiteProgram = "dig" | "nc" | "curl" | "getent" | "dash";

/** Absolute paths of them on this machine. */
export type SuitePrograms = Readonly<Record<SuiteProgram, string>>;

const PACKAGE_OF: Readonly<Record<SuiteProgram, DebianPackage>> = {
  dig: "bind9-dnsutils",
  nc: "netcat-openbsd",
  curl: "curl",
  getent: "libc-bin",
  dash: "dash",
};

/** Those that are there, or the packages that have the others. Nothing is installed. */
export function findSuitePrograms({
  env,
  host = thisHost(),
}: FindNodeOptions): SuitePrograms | { readonly packages: readonly DebianPackage[] } {
  const found: Partial<Record<SuiteProgram, string>> = {};
  const packages: DebianPackage[] = [];
  for (const name of Object.keys(PACKAGE_OF) as SuiteProgram[]) {
    const path = which(name, env, host.programFolders);
    if (path === undefined) packages.push(PACKAGE_OF[name]);
    else found[name] = path;
  }
  return packages.length > 0 ? { packages } : (found as SuitePrograms);
}

/** Finds them; as root on a Debian-like machine, installs what is missing. */
export async function ensureSuitePrograms(options: EnsureNodeOptions): Promise<SuitePrograms> {
  const { env, host = thisHost(), clock = systemClock, signal = new AbortController().signal } = options;
  const found = findSuitePrograms(options);
  if (!("packages" in found)) return found;
  const missing = found.packages.join(", ");
  const apt = which("apt-get", env, host.programFolders);
  if (host.uid !== 0) throw new SuiteProgramsUnavailable({ packages: missing, reason: "only root can install them" });
  if (apt === undefined) throw new SuiteProgramsUnavailable({ packages: missing, reason: "there is no apt-get" });
  return withLock(join(cacheDirectory(env), "node-packages.lock"), { clock, signal }, async () => {
    const before = findSuitePrograms(options);
    if (!("packages" in before)) return before;
    await installPackages(apt, before.packages, { ...options, clock, signal });
    const after = findSuitePrograms(options);
    if (!("packages" in after)) return after;
    throw new SuiteProgramsUnavailable({ packages: after.packages.join(", "), reason: "they do not have them" });
  });
}
