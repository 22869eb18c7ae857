import { describeError } from "@fjord/base";
import { PatternInvalid } from "./errors.ts";

/** Throws where the suite could not read the pattern. Go's syntax, as far as it is like ours: that is nearly all of it. */
export function checkPattern(pattern: string): void {
  const ours = pattern
    .replace(/\\Q.*?(\\E|$)/g, "")
    .replace(/\(\?[imsU-]+\)/g, "")
    .replaceAll("(?P<", "(?<")
    .replace(/\[\[:\^?\w+:\]\]/g, ".");
  try {
    new RegExp(ours);
  } catch (error) {
    throw new PatternInvalid({ pattern, reason: describeError(error) }, { cause: error });
  }
}
