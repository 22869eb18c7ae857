import { join } from "node:path";
import type { Pod } from "@fjord/kube";
import { uidOf } from "./pod-containers.ts";

/** Where the working files of all pods are. */
export function podsDirectory(stateDirectory: string): string {
  return join(stateDirectory, "pods");
}

export function podDirectory(stateDirectory: string, podUid: string): string {
  return join(podsDirectory(stateDirectory), podUid);
}

export function logsDirectory(stateDirectory: string): string {
  return join(stateDirectory, "logs");
}

/** No file system takes more as the name of one folder. */
const LONGEST_NAME = 255;

/** Where the logs of a pod's containers are. A long name is cut: the uid tells pods apart. */
export function logDirectory(stateDirectory: string, pod: Pod): string {
  const { namespace = "", name = "" } = pod.metadata;
  const room = LONGEST_NAME - namespace.length - uidOf(pod).length - 2;
  return join(logsDirectory(stateDirectory), `${namespace}_${name.slice(0, Math.max(room, 1))}_${uidOf(pod)}`);
}

/** The uid in the name of a folder of logs; undefined where it is someone else's. */
export function uidOfLogDirectory(folder: string): string | undefined {
  return /^[^_]+_[^_]+_([^_]+)$/.exec(folder)?.[1];
}

/** The file that is mounted at a container's `terminationMessagePath`. */
export function terminationMessageFile(podDirectory: string, container: string, attempt: number): string {
  return join(podDirectory, "containers", container, `${attempt}.message`);
}
