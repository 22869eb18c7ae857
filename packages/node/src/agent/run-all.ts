/** Something that works until its signal aborts. */
export interface Part {
  run(signal: AbortSignal): Promise<void> | undefined;
}

/** Runs all of them; where one fails, the others are stopped and its error is thrown. */
export async function runAll(parts: readonly Part[], signal: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const settled = await Promise.allSettled(
    parts.map(async (part) => {
      try {
        await part.run(either);
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    }),
  );
  const failure = settled.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}
