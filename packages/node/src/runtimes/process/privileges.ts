import { readFileSync } from "node:fs";
import { capabilities, plainName } from "../../machine/capabilities.ts";
import type { SecurityConfig } from "../../runtime/configuration.ts";
import type { MountNamespace } from "./tools.ts";

/** What containers have unless they say otherwise. */
const USUAL = new Set(
  "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE".split(
    " ",
  ),
);

export interface Privileges {
  /** Arguments of `setpriv`; empty where nothing changes. */
  readonly words: readonly string[];
  readonly user?: { uid: number; gid: number; supplementalGroups: readonly number[] };
}

/** Capabilities that a container keeps. */
export function keptCapabilities(security: SecurityConfig): Set<string> {
  if (security.privileged) return new Set(capabilities);
  const add = security.addCapabilities.map(plainName);
  const drop = security.dropCapabilities.map(plainName);
  const kept = new Set(add.includes("ALL") ? capabilities : USUAL);
  if (drop.includes("ALL")) kept.clear();
  for (const name of drop) kept.delete(name);
  for (const name of add) if (name !== "ALL") kept.add(name);
  return kept;
}

/** Which of the capabilities that a container asks for nobody can give it, as this process has them not itself. */
export function beyondBounding(asked: readonly string[], bounding: bigint): string[] {
  return asked.filter((name) => {
    const index = capabilities.indexOf(plainName(name));
    return plainName(name) !== "ALL" && (index < 0 || ((bounding >> BigInt(index)) & 1n) === 0n);
  });
}

/** How a process gives up what its pod is not to have. `bounding` is the set of capabilities that this process has. */
export function privilegesOf(
  security: SecurityConfig,
  machine: { root: boolean; namespace: MountNamespace; bounding: bigint; gidOf: (uid: number) => number | undefined },
): Privileges {
  const words: string[] = [];
  const noNew = security.noNewPrivileges && !security.privileged ? ["--no-new-privs"] : [];
  if (!machine.root) {
    if (machine.namespace === "user") words.push("--ambient-caps=-all", "--inh-caps=-all", "--bounding-set=-all");
    return { words: [...words, ...noNew] };
  }
  const uid = security.runAsUser ?? 0;
  const gid = security.runAsGroup ?? (uid === 0 ? 0 : (machine.gidOf(uid) ?? 0));
  const groups = [...new Set(security.supplementalGroups)];
  words.push(`--reuid=${uid}`, `--regid=${gid}`);
  words.push(groups.length > 0 ? `--groups=${groups.join(",")}` : "--clear-groups");
  const kept = keptCapabilities(security);
  const dropped = capabilities.flatMap((name, index) =>
    kept.has(name) || ((machine.bounding >> BigInt(index)) & 1n) === 0n ? [] : [`-cap_${index}`],
  );
  if (dropped.length > 0) words.push("--inh-caps=-all", `--bounding-set=${dropped.join(",")}`);
  return { words: [...words, ...noNew], user: { uid, gid, supplementalGroups: groups } };
}

export function ownBoundingSet(): bigint {
  const match = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return BigInt(`0x${match?.[1] ?? "0"}`);
}

/** The group of a user, by the machine's list of users. */
export function gidFromPasswd(uid: number): number | undefined {
  for (const line of readFileSync("/etc/passwd", "utf8").split("\n")) {
    const fields = line.split(":");
    if (fields[2] === String(uid)) return Number(fields[3]);
  }
  return undefined;
}
