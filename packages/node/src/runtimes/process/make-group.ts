import { mkdirSync } from "node:fs";
import { LimitTooSmall } from "../../runtime/errors.ts";
import { ProcessGroupNotMade } from "./errors.ts";

/**
 * Makes a control group and those above it. What is said of a failure names no group, as the next try is for another one, and it is
 * the same failure: not even its cause is kept, which would be told with it.
 */
export function makeGroup(folder: string, make: typeof mkdirSync = mkdirSync): void {
  try {
    make(folder, { recursive: true });
  } catch (error) {
    const cause = causeOf(folder, error, make);
    if (cause === undefined) return;
    // The kernel counts what it needs for a group towards the group above.
    if (cause.code === "ENOMEM") throw new LimitTooSmall({});
    throw new ProcessGroupNotMade({ code: cause.code ?? "unknown" });
  }
}

/** Node takes any failure of a directory below one that exists for a missing one, ENOMEM too. */
function causeOf(folder: string, error: unknown, make: typeof mkdirSync): NodeJS.ErrnoException | undefined {
  try {
    make(folder);
    return undefined;
  } catch (plain) {
    const { code } = plain as NodeJS.ErrnoException;
    return (code === "ENOENT" ? error : plain) as NodeJS.ErrnoException;
  }
}
