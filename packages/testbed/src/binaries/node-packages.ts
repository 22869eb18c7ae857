import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, describeError, systemClock } from "@fjord/base";
import { cacheDirectory } from "./cache.ts";
import { runCommand } from "./command.ts";
import { isStaticProgram } from "./elf.ts";
import { NodePackagesUnavailable } from "./errors.ts";
import { which } from "./find.ts";
import { withLock } from "./lock.ts";
import type { Environment } from "./platform.ts";
import type { Progress } from "./progress.ts";
import type { DebianPackage } from "./versions.ts";

/** A program that a real node needs. */
export type NodeProgram =
  | "containerd"
  | "containerd-shim-runc-v2"
  | "ctr"
  | "runc"
  | "busybox"
  | "nft"
  | "iptables"
  | "ip"
  | "ipset"
  | "nsenter"
  | "mount";

/** Absolute paths of what a real node needs beside Kubernetes' own programs. */
export interface NodeTools {
  readonly programs: Readonly<Record<NodeProgram, string>>;
  /** The folder that holds the CNI plugins. */
  readonly cni: string;
}

/** Why real nodes cannot run here; `packages` are those that would help. */
export interface NodeObstacles {
  readonly reasons: readonly string[];
  readonly packages: readonly DebianPackage[];
}

/** The machine, as far as real nodes depend on it. */
export interface NodeHost {
  readonly platform: string;
  readonly uid: number;
  /** Where programs are looked for after PATH, which often lacks the administrator's folders. */
  readonly programFolders: readonly string[];
  readonly cniFolders: readonly string[];
}

export const thisHost = (): NodeHost => ({
  platform: process.platform,
  uid: process.getuid?.() ?? -1,
  programFolders: ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"],
  cniFolders: ["/opt/cni/bin", "/usr/lib/cni"],
});

const PACKAGE_OF: Readonly<Record<NodeProgram, DebianPackage>> = {
  containerd: "containerd",
  "containerd-shim-runc-v2": "containerd",
  ctr: "containerd",
  runc: "runc",
  busybox: "busybox-static",
  nft: "nftables",
  iptables: "iptables",
  ip: "iproute2",
  ipset: "ipset",
  nsenter: "util-linux",
  mount: "util-linux",
};

export const CNI_PLUGINS = ["ptp", "host-local", "loopback", "portmap", "bridge"] as const;

export interface FindNodeOptions {
  readonly env: Environment;
  readonly host?: NodeHost;
}

/** The tools of a real node, or every reason why there can be none here. Nothing is installed. */
export function findNodePackages({ env, host = thisHost() }: FindNodeOptions): NodeTools | NodeObstacles {
  if (host.platform !== "linux")
    return { reasons: [`real nodes need Linux, and this is ${host.platform}`], packages: [] };
  const reasons: string[] = [];
  const packages = new Set<DebianPackage>();
  if (host.uid !== 0) reasons.push("real nodes need root");
  const lack = (what: string, debianPackage: DebianPackage) => {
    reasons.push(`${what} (Debian package ${debianPackage})`);
    packages.add(debianPackage);
  };
  const programs: Partial<Record<NodeProgram, string>> = {};
  for (const name of Object.keys(PACKAGE_OF) as NodeProgram[]) {
    const path = which(name, env, host.programFolders);
    if (path === undefined) lack(`no ${name}`, PACKAGE_OF[name]);
    else if (name === "busybox" && !isStaticProgram(path)) lack(`${path} is not a static program`, PACKAGE_OF[name]);
    else programs[name] = path;
  }
  const cni = host.cniFolders.find((folder) => CNI_PLUGINS.every((plugin) => existsSync(join(folder, plugin))));
  if (cni === undefined) {
    lack(`no CNI plugins ${CNI_PLUGINS.join(", ")} in ${host.cniFolders.join(" or ")}`, "containernetworking-plugins");
  }
  if (reasons.length > 0 || cni === undefined) return { reasons, packages: [...packages] };
  return { programs: programs as Record<NodeProgram, string>, cni };
}

export interface EnsureNodeOptions extends FindNodeOptions {
  readonly progress?: Progress;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** Finds the tools of a real node; as root on a Debian-like machine, installs what is missing. */
export async function ensureNodePackages(options: EnsureNodeOptions): Promise<NodeTools> {
  const found = findNodePackages(options);
  if ("programs" in found) return found;
  const { env, host = thisHost(), clock = systemClock, signal = new AbortController().signal } = options;
  const apt = which("apt-get", env, host.programFolders);
  if (host.platform !== "linux" || host.uid !== 0 || apt === undefined) throw unavailable(found.reasons, apt);
  const lock = join(cacheDirectory(env), "node-packages.lock");
  return withLock(lock, { clock, signal }, async () => {
    const before = findNodePackages(options);
    if ("programs" in before) return before;
    await installPackages(apt, before.packages, { ...options, clock, signal });
    const after = findNodePackages(options);
    if ("programs" in after) return after;
    throw unavailable(after.reasons, apt);
  });
}

function unavailable(reasons: readonly string[], apt: string | undefined): Error {
  const all = apt === undefined ? [...reasons, "there is no apt-get to install them with"] : reasons;
  return new NodePackagesUnavailable({ reasons: all.join("; ") });
}

/** Installs packages of Debian, as root. */
export async function installPackages(
  apt: string,
  packages: readonly DebianPackage[],
  { env, clock, signal, progress = () => {} }: EnsureNodeOptions & { clock: Clock; signal: AbortSignal },
): Promise<void> {
  progress({ type: "installing", packages });
  const run = (patience: AbortSignal, ...args: string[]) =>
    runCommand(apt, ["-o", "DPkg::Lock::Timeout=300", ...args], {
      cwd: "/",
      env: { ...env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
      clock,
      signal: patience,
      onLine(line) {
        if (/^(Get:|Unpacking|Setting up)/.test(line)) progress({ type: "output", line });
        return false;
      },
    });
  // Out-of-date lists often still serve, and when they do not, the installation says so.
  await run(signal, "update").catch((error: unknown) => {
    signal.throwIfAborted();
    progress({ type: "output", line: describeError(error) });
  });
  const request = ["install", "-y", "--no-install-recommends", ...packages];
  await run(signal, ...request, "--download-only");
  // Breaking off in the middle would leave the machine's package database in need of repair; this part takes seconds.
  await run(new AbortController().signal, ...request);
  signal.throwIfAborted();
}
