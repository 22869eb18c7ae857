import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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

const fileName = "bed.json";

/** A bed's state, written whole to its file on each change: a reader never sees half of one. */
export class StateFile {
  #state: BedState;

  constructor(state: BedState) {
    this.#state = state;
    this.update({});
  }

  get state(): BedState {
    return this.#state;
  }

  update(change: Partial<BedState>): void {
    this.#state = { ...this.#state, ...change };
    const file = join(this.#state.directory, fileName);
    writeFileSync(`${file}.new`, `${JSON.stringify(this.#state, undefined, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
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

/** The state in a run directory; undefined when there is no bed. */
export function readState(directory: string): BedState | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, fileName), "utf8")) as BedState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
