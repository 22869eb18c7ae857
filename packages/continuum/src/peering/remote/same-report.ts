import { isDeepStrictEqual } from "node:util";
import type { SiteReport } from "../../protocol.ts";

/** Whether two reports say the same, in whatever order. */
export function sameReport(one: SiteReport, other: SiteReport): boolean {
  return isDeepStrictEqual(one, other);
}
