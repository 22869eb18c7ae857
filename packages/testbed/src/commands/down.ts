import { dirname, join } from "node:path";
import type { Command } from "commander";
import { ForeignStateError } from "../errors.ts";
import { reapLeftovers, removeBed, removeIfEmpty } from "../leftovers.ts";
import { isAlive } from "../process-identity.ts";
import { type Registration, Registry } from "../registry.ts";
import { readState, stateFile } from "../state.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

export function addDown(program: Command, context: CommandContext): void {
  program
    .command("down")
    .description("end the sites and remove all there is of them")
    .option("--all", "every test bed of this user that no running program owns, wherever it is", false)
    .action(async (_, command: Command) => down(command.optsWithGlobals<CommonOptions & { all: boolean }>(), context));
}

async function down({ directory, all }: CommonOptions & { all: boolean }, context: CommandContext): Promise<void> {
  const registry = new Registry();
  const { log } = context;
  const removed = await reapLeftovers({ registry, log });
  for (const bed of bedsOf(directory, all, registry)) {
    await removeBed(bed, { registry, log });
    removed.push(bed);
  }
  removeEmptyParent(directory, context);
  if (removed.length === 0) context.progress(`There is no test bed in ${directory}: nothing to do`);
  for (const bed of removed) context.progress(`Removed the test bed in ${bed.directory}`);
}

/** The bed whose state the directory holds, and those registered for it: the directory may have been deleted by hand. */
function bedsOf(directory: string, all: boolean, registry: Registry): Registration[] {
  const registered = registry
    .list()
    .filter((bed) => bed.directory === directory || (all && (bed.owner === undefined || !isAlive(bed.owner))));
  if (registered.some((bed) => bed.directory === directory)) return registered;
  const unregistered = unregisteredBed(directory);
  return unregistered === undefined ? registered : [...registered, unregistered];
}

/** A bed of before the registry was emptied, by a restart of the machine for instance. Its state is not taken on trust. */
function unregisteredBed(directory: string): Registration | undefined {
  const state = readState(directory);
  if (state === undefined) return undefined;
  const file = join(directory, stateFile);
  if (!/^[0-9a-z]{7}$/.test(state.id)) throw new ForeignStateError({ file, reason: "it has no id" });
  if (state.directory === directory) return { id: state.id, directory };
  throw new ForeignStateError({ file, reason: `it is that of the test bed in ${state.directory}` });
}

/** The parent of the directory that nobody had to name was made along with it, and has no other use. */
export function removeEmptyParent(directory: string, { defaultDirectory }: CommandContext): void {
  if (directory === defaultDirectory) removeIfEmpty(dirname(directory));
}
