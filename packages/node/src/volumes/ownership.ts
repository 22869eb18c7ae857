import type { Pod } from "@fjord/kube";
import { allContainers } from "../environment/pod-containers.ts";

/** Whom the files of a pod's volumes belong to. */
export interface Ownership {
  /** Group that may read and write the pod's volumes. */
  readonly fsGroup?: number;
  /** The user of all containers, where it is the same. */
  readonly fsUser?: number;
  readonly policy: "Always" | "OnRootMismatch";
}

export function ownershipOf(pod: Pod): Ownership {
  const { fsGroup, fsGroupChangePolicy, runAsUser } = pod.spec?.securityContext ?? {};
  const users = new Set(allContainers(pod).map((container) => container.securityContext?.runAsUser ?? runAsUser));
  const [user] = users;
  return {
    ...(fsGroup === undefined ? {} : { fsGroup }),
    ...(users.size === 1 && user !== undefined ? { fsUser: user } : {}),
    policy: fsGroupChangePolicy === "OnRootMismatch" ? "OnRootMismatch" : "Always",
  };
}

const SETGID = 0o2000;

/** The mode that lets the volume's group in: files of read-only volumes are for reading, directories pass it on. */
export function modeForGroup(mode: number, kind: "file" | "directory", access: "read" | "write"): number {
  const allowed = access === "read" ? 0o440 : 0o660;
  return mode | allowed | (kind === "directory" ? SETGID | 0o110 : 0);
}

/** Whether a directory already lets the group in, so that what is below it can be taken to do so too. */
export function letsGroupIn(
  directory: { mode: number; gid: number },
  group: number,
  access: "read" | "write",
): boolean {
  const wanted = modeForGroup(0, "directory", access);
  return directory.gid === group && (directory.mode & wanted) === wanted;
}
