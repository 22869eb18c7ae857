import { execFile } from "node:child_process";
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Clock, describeError, type Logger, systemClock } from "@fjord/base";
import { BedNotRemovedError, StateUnreadableError } from "./errors.ts";
import { identify, isAlive, type ProcessIdentity, readProc, sendSignal } from "./process-identity.ts";
import type { Resource } from "./process-record.ts";
import type { Registration, Registry } from "./registry.ts";
import { type BedState, readState, removeRunDirectory, stateFile } from "./state.ts";
import { waitFor } from "./wait.ts";

const run = promisify(execFile);

/** Every process of a bed carries this variable with the bed's id, and hands it to its children. */
const markVariable = "FJORD_TESTBED_ID";

/** The environment of each of a bed's processes. */
export function bedEnvironment(id: string): Record<string, string> {
  const { NODE_COMPILE_CACHE: compiled, GOGC: collecting } = process.env;
  return {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    [markVariable]: id,
    // Agents and nodes start sooner with what other processes have compiled.
    ...(compiled && { NODE_COMPILE_CACHE: compiled }),
    // How seldom Kubernetes' programs look for what they can forget is for whoever starts the tests to say.
    ...(collecting && { GOGC: collecting }),
  };
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
  const mine = recordedState(bed, options);
  const recorded = (mine?.processes ?? []).flatMap(({ identity }) => (identity === undefined ? [] : [identity]));
  await endProcesses(() => [...recorded.filter(isAlive), ...markedProcesses(bed.id)], options);
  const stuck: string[] = [];
  for (const resource of [...(mine?.resources ?? [])].reverse()) {
    await removeResource(resource, bed, options).catch((error: unknown) =>
      stuck.push(`${resource.kind} ${resource.id} (${describeError(error)})`),
    );
  }
  if (stuck.length > 0) throw new BedNotRemovedError({ directory: bed.directory, what: stuck.join(", ") });
  if (isStillOf(bed)) await removeRunDirectory(bed.directory);
  else if (mine !== undefined && !existsSync(join(bed.directory, stateFile))) await removeSites(mine);
  options.registry.remove(bed.id);
}

/** What the bed is made of, by the registry's copy, or by the run directory's where there is none. */
function recordedState(bed: Registration, { registry, log }: RemoveOptions): BedState | undefined {
  for (const directory of [registry.runtimeDirectory(bed.id), bed.directory]) {
    try {
      const state = readState(directory);
      if (state?.id === bed.id) return state;
    } catch (error) {
      log.warn("what the test bed is made of cannot be read; its processes are found by their mark", {
        error: describeError(error),
      });
    }
  }
  return undefined;
}

/** What is left of a run directory whose state somebody has deleted: nothing but what the bed made is touched. */
async function removeSites({ sites, directory }: BedState): Promise<void> {
  for (const site of sites) await rm(site.directory, { recursive: true, force: true, maxRetries: 5 });
  removeIfEmpty(directory);
}

/** Whether the run directory is still this bed's: another, or files of the user's, may have taken its place. */
function isStillOf({ id, directory }: Registration): boolean {
  try {
    return readState(directory)?.id === id;
  } catch (error) {
    // It is beyond reading, but the registry says whose it is.
    return error instanceof StateUnreadableError;
  }
}

/** Removes a directory in which nothing is left. */
export function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    // One that is not ours to remove, such as a mount point, may stay: that must not hide what happened before.
    const stays = ["ENOENT", "ENOTEMPTY", "EACCES", "EPERM", "EBUSY", "EROFS"];
    if (!stays.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
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

async function removeResource(resource: Resource, bed: Registration, options: RemoveOptions): Promise<void> {
  // Whatever the file says: nothing is removed that does not bear the bed's name.
  if (!resource.id.split("/").some((part) => part.startsWith(`fj${bed.id}`))) throw new Error("it is not of this bed");
  if (resource.kind === "cgroup") return removeCgroup(resource.id, options);
  return removeLink(resource.id);
}

/** A cable may go by itself, with the namespace of its other end, between the look and the command. */
async function removeLink(name: string): Promise<void> {
  const isThere = () => existsSync(join("/sys/class/net", name));
  if (!isThere()) return;
  await run("ip", ["link", "delete", name]).catch((error: unknown) => {
    if (isThere()) throw error;
  });
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
