import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePrivateDirectory, userDirectory } from "../private-directory.ts";
import { identify, isAlive, type ProcessIdentity } from "../process-identity.ts";

const LIMIT = "/proc/sys/fs/inotify/max_user_instances";
/** A site of Kubernetes takes 17 and a node 9, some files have three sites, and three files run at once. Many systems allow 128. */
const WANTED = 1024;

/** A program that has more allowed than the system did. */
interface Holder {
  readonly process: ProcessIdentity | undefined;
  /** What the system allowed before the first of them. */
  readonly before: string;
}

/**
 * Lets a user have as many inotify instances as all test files that run at once may take, where the system allows fewer and we may
 * change that: a kubelet that gets none ends. Gives what makes it as before, once no other program has asked for the
 * same; undefined where nothing was changed.
 */
export function allowInotify(
  file = LIMIT,
  directory = userDirectory("fjord-inotify"),
  pid = process.pid,
): (() => void) | undefined {
  try {
    makePrivateDirectory(directory);
    const now = readFileSync(file, "utf8");
    // Another may have raised it, whether it still runs or was killed.
    const before = Number(now) === WANTED ? (holders(directory)[0]?.before ?? now) : now;
    if (!(Number(before) < WANTED)) return undefined;
    const own = join(directory, String(pid));
    const holder: Holder = { process: identify(pid), before };
    writeFileSync(own, JSON.stringify(holder), { mode: 0o600 });
    writeFileSync(file, `${WANTED}\n`);
    return () => {
      rmSync(own, { force: true });
      if (isHeld(directory)) return;
      writeFileSync(file, before);
      // Who has come meanwhile had it raised before it was lowered.
      if (isHeld(directory)) writeFileSync(file, `${WANTED}\n`);
    };
  } catch {
    // Another system, or not for us to change: then some nodes may find none left, and say so.
    return undefined;
  }
}

/** Whether one of them runs; those that were killed are forgotten. */
function isHeld(directory: string): boolean {
  let held = false;
  for (const { process, file } of holders(directory)) {
    if (process !== undefined && isAlive(process)) held = true;
    else rmSync(file, { force: true });
  }
  return held;
}

function holders(directory: string): (Holder & { file: string })[] {
  return readdirSync(directory).flatMap((name) => {
    const file = join(directory, name);
    try {
      return [{ ...(JSON.parse(readFileSync(file, "utf8")) as Holder), file }];
    } catch {
      // It has ended meanwhile, or is about to write it.
      return [];
    }
  });
}
