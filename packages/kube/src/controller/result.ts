/** What became of one reconciliation. A reconciler that throws is tried again with growing delays instead. */
export type Result =
  | { readonly type: "done" }
  | { readonly type: "again"; readonly afterMs: number }
  | { readonly type: "terminal"; readonly error: unknown };

/** The world is as wanted; the next change brings the object back. */
export function done(): Result {
  return { type: "done" };
}

/** As wanted for now; look again after `ms` (at least one) even if nothing changes. */
export function againAfter(ms: number): Result {
  return { type: "again", afterMs: ms };
}

/** Trying again cannot help before somebody changes something: the error is recorded, not retried. */
export function terminal(error: unknown): Result {
  return { type: "terminal", error };
}
