import { join } from "node:path";
import { systemClock } from "@fjord/base";
import { cacheDirectory } from "./cache.ts";
import { NetworkToolsUnavailable } from "./errors.ts";
import { which } from "./find.ts";
import { withLock } from "./lock.ts";
import { type EnsureNodeOptions, installPackages, thisHost } from "./node-packages.ts";
import type { DebianPackage } from "./versions.ts";

/** A program that tests and benchmarks of links use, beside WireGuard itself. */
export type NetworkProgram = "ip" | "nft" | "iperf3" | "tcpdump" | "wg" | "qemu-system-x86_64" | "busybox";

const PACKAGE_OF: Readonly<Record<NetworkProgram, DebianPackage>> = {
  ip: "iproute2",
  nft: "nftables",
  iperf3: "iperf3",
  tcpdump: "tcpdump",
  wg: "wireguard-tools",
  "qemu-system-x86_64": "qemu-system-x86",
  busybox: "busybox-static",
};

/** Those that few tests need, which ask for them. */
const RARE: readonly NetworkProgram[] = ["qemu-system-x86_64", "busybox"];
const USUAL = (Object.keys(PACKAGE_OF) as NetworkProgram[]).filter((name) => !RARE.includes(name));

export interface NetworkToolsOptions extends EnsureNodeOptions {
  /** @default all but those that another kernel is played with */
  readonly programs?: readonly NetworkProgram[];
}

/** Those that are not on this machine, each with the Debian package that has it. */
export function missingNetworkTools(options: NetworkToolsOptions): Map<NetworkProgram, DebianPackage> {
  const { env, host = thisHost(), programs = USUAL } = options;
  const missing = programs.filter((name) => which(name, env, host.programFolders) === undefined);
  return new Map(missing.map((name) => [name, PACKAGE_OF[name]]));
}

/** As root on a Debian-like machine, installs those that are missing. */
export async function ensureNetworkTools(options: NetworkToolsOptions): Promise<void> {
  const { env, host = thisHost(), clock = systemClock, signal = new AbortController().signal } = options;
  if (missingNetworkTools(options).size === 0) return;
  const unavailable = (reason: string) =>
    new NetworkToolsUnavailable({ programs: [...missingNetworkTools(options).keys()].join(", "), reason });
  const apt = which("apt-get", env, host.programFolders);
  if (host.uid !== 0) throw unavailable("only root can install them");
  if (apt === undefined) throw unavailable("there is no apt-get to install them with");
  await withLock(join(cacheDirectory(env), "node-packages.lock"), { clock, signal }, async () => {
    const packages = [...new Set(missingNetworkTools(options).values())];
    if (packages.length > 0) await installPackages(apt, packages, { ...options, clock, signal });
    if (missingNetworkTools(options).size > 0) throw unavailable("their packages do not have them");
  });
}
