import { readFileSync, writeFileSync } from "node:fs";

const LIMIT = "/proc/sys/fs/inotify/max_user_instances";
/** A site of Kubernetes takes 17 and a node 9, some files have three sites, and three files run at once. Many systems allow 128. */
const WANTED = 1024;

/**
 * Lets a user have as many inotify instances as all test files that run at once may take, where the system allows fewer and we may
 * change that: a kubelet that gets none ends. Gives what makes it as before; undefined where nothing was changed.
 */
export function allowInotify(file = LIMIT): (() => void) | undefined {
  try {
    const before = readFileSync(file, "utf8");
    if (!(Number(before) < WANTED)) return undefined;
    writeFileSync(file, `${WANTED}\n`);
    return () => writeFileSync(file, before);
  } catch {
    // Another system, or not for us to change: then some nodes may find none left, and say so.
    return undefined;
  }
}
