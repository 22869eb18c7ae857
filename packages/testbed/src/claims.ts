import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identify, isAlive, type ProcessIdentity } from "./process-identity.ts";
import { Registry } from "./registry.ts";

/**
 * Numbers that programs of this user have chosen and may not use yet: what nobody listens on, and to what there is no way
 * yet, is else taken by two that look at the same moment. A claim ends with its process.
 */
export class Claims {
  readonly #directory: string;

  constructor(directory: string = join(new Registry().directory, "claims")) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  /** Takes the name for this process; false where a process that lives, this one included, has taken it before. */
  take(name: string): boolean {
    const file = join(this.#directory, name);
    const own = `${file}.${process.pid}`;
    writeFileSync(own, JSON.stringify(identify(process.pid)), { mode: 0o600 });
    try {
      for (;;) {
        if (created(file, own)) return true;
        if (!this.#removeDead(file, `${own}.dead`)) return false;
      }
    } finally {
      rmSync(own, { force: true });
    }
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
    rmSync(aside);
    return !taken;
  }
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
