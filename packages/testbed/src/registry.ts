import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { RegistryError } from "./errors.ts";
import { makePrivateDirectory, userDirectory } from "./private-directory.ts";
import { isAlive, type ProcessIdentity } from "./process-identity.ts";

/** What is known of a bed outside its run directory. */
export interface Registration {
  readonly id: string;
  readonly directory: string;
  /** The process that the bed belongs to: when that has ended, the bed is a leftover. */
  readonly owner?: ProcessIdentity;
  /** The process that is removing the bed, so that the one that is starting it knows why its processes end. */
  readonly remover?: ProcessIdentity;
}

/** All beds of this user on this machine, wherever their run directories are. */
export class Registry {
  readonly directory: string;

  constructor(directory: string = userDirectory("fjord-testbed")) {
    this.directory = directory;
    makePrivateDirectory(directory);
  }

  /** A place of the bed's own with a short path. */
  runtimeDirectory(id: string): string {
    return join(this.directory, id);
  }

  put(registration: Registration): void {
    const file = this.#file(registration.id);
    writeFileSync(`${file}.new`, JSON.stringify(registration), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  /** Forgets a bed, with its runtime directory. */
  remove(id: string): void {
    rmSync(this.runtimeDirectory(id), { recursive: true, force: true, maxRetries: 5 });
    rmSync(this.#file(id), { force: true });
  }

  find(id: string): Registration | undefined {
    return this.#read(this.#file(id))[0];
  }

  list(): Registration[] {
    return readdirSync(this.directory)
      .filter((name) => name.endsWith(".json"))
      .flatMap((name) => this.#read(join(this.directory, name)));
  }

  /** Beds whose owner has ended without ending them. */
  leftovers(): Registration[] {
    return this.list().filter(({ owner }) => owner !== undefined && !isAlive(owner));
  }

  #file(id: string): string {
    if (!/^[0-9a-z]+$/.test(id)) throw new RegistryError({ directory: this.directory, reason: `${id} is no id` });
    return join(this.directory, `${id}.json`);
  }

  #read(file: string): Registration[] {
    const id = basename(file, ".json");
    try {
      const registration = JSON.parse(readFileSync(file, "utf8")) as Registration | null;
      if (registration?.id === id && typeof registration.directory === "string") return [registration];
    } catch (error) {
      // Another program may have removed it since it was listed.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      if (!(error instanceof SyntaxError)) throw error;
    }
    // Beyond reading: a bed of which only the id is known, that `down --all` removes.
    return [{ id, directory: this.runtimeDirectory(id) }];
  }
}
