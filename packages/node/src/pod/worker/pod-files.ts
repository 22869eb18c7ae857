import { readFile, rm } from "node:fs/promises";
import type { Pod } from "@fjord/kube";
import { logFiles } from "../../logs/log-files.ts";
import { StillMounted } from "../errors.ts";
import { uidOf } from "../pod-containers.ts";
import { logDirectory, podDirectory } from "../pod-directory.ts";

/** Removes the directory and the logs of a pod that is gone. */
export async function removeFilesOf(stateDirectory: string, pod: Pod): Promise<void> {
  await removeTree(podDirectory(stateDirectory, uidOf(pod)));
  await removeTree(logDirectory(stateDirectory, pod));
}

/** Removes a container's log with what was rotated out of it. */
export async function removeLogs(file: string): Promise<void> {
  for (const each of file === "" ? [] : await logFiles(file)) await rm(each, { force: true });
}

/** Removes a folder, but never what is mounted below it: that belongs to someone else. */
export async function removeTree(folder: string): Promise<void> {
  const mount = (await mountpoints()).find((point) => point === folder || point.startsWith(`${folder}/`));
  if (mount !== undefined) throw new StillMounted({ folder, mount });
  await rm(folder, { recursive: true, force: true });
}

async function mountpoints(): Promise<string[]> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  return table.split("\n").map((line) => unescapePath(line.split(" ")[4] ?? ""));
}

/** The kernel writes blanks in paths as octal numbers. */
function unescapePath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
