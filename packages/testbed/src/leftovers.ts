import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Clock, describeError, type Logger, systemClock } from "@fjord/base";
import { BedNotRemovedError } from "./errors.ts";
import { identify, isAlive, type ProcessIdentity, readProc, sendSignal } from "./process-identity.ts";
import type { Resource } from "./process-record.ts";
import type { Registration, Registry } from "./registry.ts";
import { readState } from "./state.ts";
import { waitFor } from "./wait.ts";

const run = promisify(execFile);

/** Every process of a bed carries this variable with the bed's id, and hands it to its children. */
const markVariable = "FJORD_TESTBED_ID";

/** The environment of each of a bed's processes. */
export function bedEnvironment(id: string): Record<string, string> {
  return { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", [markVariable]: id };
}

export interface RemoveOptions {
  registry: Registry;
  log: Logger;
  clock?: Clock;
}

/**
 * Ends and removes all there is of a bed, whoever started it and however it ended. Doing so twice does no harm; what
 * cannot be removed stays on record for the next time.
 */
export async function removeBed(bed: Registration, options: RemoveOptions): Promise<void> {
  const registered = options.registry.find(bed.id);
  const remover = identify(process.pid);
  if (registered !== undefined && remover !== undefined) options.registry.put({ ...registered, remover });
  const state = readState(bed.directory);
  const mine = state?.id === bed.id ? state : undefined;
  const recorded = (mine?.processes ?? []).flatMap(({ identity }) => (identity === undefined ? [] : [identity]));
  await endProcesses(() => [...recorded.filter(isAlive), ...markedProcesses(bed.id)], options);
  const stuck: string[] = [];
  for (const resource of [...(mine?.resources ?? [])].reverse()) {
    await removeResource(resource, options).catch((error: unknown) =>
      stuck.push(`${resource.kind} ${resource.id} (${describeError(error)})`),
    );
  }
  if (stuck.length > 0) throw new BedNotRemovedError({ directory: bed.directory, what: stuck.join(", ") });
  // The directory is removed only when it holds this bed: another may have been started there since.
  for (const directory of [bed.directory, options.registry.runtimeDirectory(bed.id)]) await unmountBelow(directory);
  if (mine !== undefined) await rm(bed.directory, { recursive: true, force: true, maxRetries: 5 });
  options.registry.remove(bed.id);
}

/** Removes a directory in which nothing is left. */
export function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    if (!["ENOENT", "ENOTEMPTY"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Removes the beds of programs that have ended; gives their registrations. */
export async function reapLeftovers(options: RemoveOptions): Promise<Registration[]> {
  const removed: Registration[] = [];
  for (const bed of options.registry.leftovers()) {
    options.log.info("removing a test bed whose program has ended", { id: bed.id, directory: bed.directory });
    try {
      await removeBed(bed, options);
      removed.push(bed);
    } catch (error) {
      // Another's leftovers must not keep a bed from starting.
      options.log.warn("a test bed whose program has ended is still there", { error: describeError(error) });
    }
  }
  return removed;
}

/** Live processes that carry the mark of a bed. */
export function markedProcesses(id: string): ProcessIdentity[] {
  const mark = `${markVariable}=${id}`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readProc(`/proc/${pid}/environ`)?.split("\0").includes(mark))
    .flatMap((pid) => identify(Number(pid)) ?? []);
}

/** Kills until none is left: a process may start another between the look and the signal. */
async function endProcesses(find: () => ProcessIdentity[], options: RemoveOptions): Promise<void> {
  const gone = await waitFor(
    () => {
      const left = find();
      for (const identity of left) sendSignal(identity, "SIGKILL");
      return left.length === 0;
    },
    { clock: options.clock ?? systemClock, timeout: 10_000, interval: 20 },
  );
  if (!gone) options.log.warn("processes of the test bed do not end", { pids: find().map(({ pid }) => pid) });
}

async function removeResource(resource: Resource, options: RemoveOptions): Promise<void> {
  switch (resource.kind) {
    case "netns":
      if (existsSync(join("/run/netns", resource.id))) await run("ip", ["netns", "delete", resource.id]);
      return;
    case "link":
      if (existsSync(join("/sys/class/net", resource.id))) await run("ip", ["link", "delete", resource.id]);
      return;
    case "cgroup":
      return removeCgroup(resource.id, options);
    case "mount":
      return unmountBelow(resource.id);
    case "directory":
      await unmountBelow(resource.id);
      return rm(resource.id, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function removeCgroup(directory: string, options: RemoveOptions): Promise<void> {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeCgroup(join(directory, entry.name), options);
  }
  const members = () =>
    (readProc(join(directory, "cgroup.procs")) ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .flatMap((pid) => identify(Number(pid)) ?? []);
  await endProcesses(members, options);
  // The last threads of an ended process may still be on their way out, and keep the group busy until then.
  const clock = options.clock ?? systemClock;
  const removed = await waitFor(() => removeFreeCgroup(directory), { clock, timeout: 5_000, interval: 10 });
  if (!removed) rmdirSync(directory);
}

function removeFreeCgroup(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EBUSY") return false;
    throw error;
  }
}

async function unmountBelow(path: string): Promise<void> {
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) =>
      (line.split(" ")[1] ?? "").replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(parseInt(code, 8))),
    )
    .filter((mount) => mount === path || mount.startsWith(`${path}/`));
  for (const mount of mounts.reverse()) await run("umount", ["--lazy", mount]);
}
