/** What reflection reports, by resource, such as `services`. */
export interface ReflectionCounters {
  /** A twin was written. */
  item(resource: string, action: "created" | "patched" | "deleted"): void;
  /** A write did not succeed, or must not be done. */
  error(resource: string, reason: "collision" | "refused" | "failed" | "dropped"): void;
}

export const noCounters: ReflectionCounters = { item() {}, error() {} };
