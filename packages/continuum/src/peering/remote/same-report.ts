import type { SiteReport } from "../../protocol.ts";

// Not imported: an import would load all that it could ever give (docs/decisions/0007).
const { isDeepStrictEqual } = process.getBuiltinModule("node:util");

/** Whether two reports say the same, in whatever order. */
export function sameReport(one: SiteReport, other: SiteReport): boolean {
  return isDeepStrictEqual(one, other);
}
