import { existsSync, linkSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryInUseError, StateUnreadableError } from "./errors.ts";
import type { ProcessRecord, Resource } from "./process-record.ts";
import type { SiteLayout } from "./site-layout.ts";

/** What a test bed is made of, as its run directory tells any program that comes later. */
export interface BedState {
  readonly version: 1;
  readonly id: string;
  readonly directory: string;
  /** A directory with a short path, for sockets: their addresses may hold 107 bytes only. */
  readonly runtimeDirectory: string;
  readonly startedAt: string;
  /** Whether every site had become ready. */
  readonly ready: boolean;
  readonly sites: readonly SiteLayout[];
  /** How many each site has. @default 0 */
  readonly simulatedNodes?: number;
  readonly processes: readonly ProcessRecord[];
  readonly resources: readonly Resource[];
}

/** Its name in a run directory. */
export const stateFile = "bed.json";

/**
 * A bed's state, written whole on each change: a reader never sees half of one. It is kept twice, in the run directory
 * for whoever looks there, and in the registry's, where nobody deletes or edits it by hand.
 */
export class StateFile {
  #state: BedState;

  constructor(state: BedState) {
    this.#state = state;
  }

  /** For a new bed. Of two that are started in one directory at the same moment, one is refused. */
  static create(state: BedState): StateFile {
    const file = join(state.directory, stateFile);
    const draft = `${file}.${state.id}`;
    writeFileSync(draft, textOf(state), { mode: 0o600 });
    try {
      // Unlike a rename it does not replace, and unlike writing to a new file it shows no half of one.
      linkSync(draft, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new DirectoryInUseError({ directory: state.directory }, { cause: error });
    } finally {
      rmSync(draft, { force: true });
    }
    const created = new StateFile(state);
    created.update({});
    return created;
  }

  get state(): BedState {
    return this.#state;
  }

  update(change: Partial<BedState>): void {
    this.#state = { ...this.#state, ...change };
    const text = textOf(this.#state);
    const { directory, runtimeDirectory } = this.#state;
    for (const each of new Set([runtimeDirectory, directory])) {
      const file = join(each, stateFile);
      writeFileSync(`${file}.new`, text, { mode: 0o600 });
      renameSync(`${file}.new`, file);
    }
  }

  /** Adds a process, or replaces the record that has its site and name. */
  putProcess(record: ProcessRecord): void {
    const { processes } = this.#state;
    const index = processes.findIndex((other) => other.site === record.site && other.name === record.name);
    this.update({ processes: index < 0 ? [...processes, record] : processes.with(index, record) });
  }

  removeProcess(site: string, name: string): void {
    this.update({
      processes: this.#state.processes.filter((record) => record.site !== site || record.name !== name),
    });
  }

  addResource(resource: Resource): void {
    if (this.#state.resources.some((other) => other.kind === resource.kind && other.id === resource.id)) return;
    this.update({ resources: [...this.#state.resources, resource] });
  }

  removeResource(resource: Resource): void {
    this.update({
      resources: this.#state.resources.filter((other) => other.kind !== resource.kind || other.id !== resource.id),
    });
  }
}

function textOf(state: BedState): string {
  return `${JSON.stringify(state, undefined, 2)}\n`;
}

/** The state in a run directory; undefined when there is no bed. */
export function readState(directory: string): BedState | undefined {
  const file = join(directory, stateFile);
  try {
    const state = JSON.parse(readFileSync(file, "utf8")) as BedState | null;
    if (state?.version === 1) return state;
    throw new SyntaxError("it is not the state of a test bed");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof SyntaxError) throw new StateUnreadableError({ file, reason: error.message }, { cause: error });
    throw error;
  }
}

/** Removes a run directory. The state goes last: whoever comes after a crash still finds what is left. */
export async function removeRunDirectory(directory: string): Promise<void> {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  for (const name of [...names.filter((each) => each !== stateFile), stateFile]) {
    await rm(join(directory, name), { recursive: true, force: true, maxRetries: 5 });
  }
  try {
    rmdirSync(directory);
  } catch (error) {
    // A mount point of the user's stays; so does a directory in which something was put just now.
    if (!["ENOENT", "EBUSY", "ENOTEMPTY"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
