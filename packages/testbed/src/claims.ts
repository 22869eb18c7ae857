import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePrivateDirectory, userDirectory } from "./private-directory.ts";
import { identify, isAlive, type ProcessIdentity } from "./process-identity.ts";

/** The files of this process' claims: they go with it. */
const own = new Set<string>();

/**
 * Numbers that programs of this user have chosen and may not use yet: what nobody listens on, and to what there is no way
 * yet, is else taken by two that look at the same moment. A claim ends with its process.
 */
export class Claims {
  readonly #directory: string;

  constructor(directory: string = userDirectory("fjord-claims")) {
    this.#directory = directory;
    makePrivateDirectory(directory);
    // Those of a program that was killed stay. What has a dot in its name is about to become one.
    for (const name of readdirSync(directory).filter((each) => !each.includes("."))) {
      this.#removeDead(join(directory, name), join(directory, `.${process.pid}`));
    }
  }

  /** Takes the name, which has no dots, for this process; false where a process that lives, this one included, has taken it before. */
  take(name: string): boolean {
    const file = join(this.#directory, name);
    const draft = join(this.#directory, `${name}.${process.pid}`);
    writeFileSync(draft, JSON.stringify(identify(process.pid)), { mode: 0o600 });
    try {
      for (;;) {
        if (created(file, draft)) return this.#note(file);
        if (!this.#removeDead(file, `${draft}.dead`)) return false;
      }
    } finally {
      rmSync(draft, { force: true });
    }
  }

  #note(file: string): true {
    if (own.size === 0) process.on("exit", removeOwn);
    own.add(file);
    return true;
  }

  /** Removes a claim whose process has ended; false where it lives. */
  #removeDead(file: string, aside: string): boolean {
    if (isHeld(file)) return false;
    try {
      renameSync(file, aside);
    } catch (error) {
      // Somebody else has removed it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return true;
    }
    // And may have claimed it, too: then it is given back.
    const taken = isHeld(aside);
    if (taken) created(file, aside);
    rmSync(aside, { force: true });
    return !taken;
  }
}

function removeOwn(): void {
  for (const file of own) rmSync(file, { force: true });
}

function created(file: string, from: string): boolean {
  try {
    linkSync(from, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

function isHeld(file: string): boolean {
  try {
    const holder = JSON.parse(readFileSync(file, "utf8")) as ProcessIdentity;
    return isAlive(holder);
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
