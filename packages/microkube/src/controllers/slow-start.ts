/**
 * Does the same thing `count` times: once, then twice as many at a time with each round that went well. A quota that
 * refuses the first of a hundred pods is not asked a hundred times.
 */
export async function slowStart(
  count: number,
  act: (index: number) => Promise<void>,
): Promise<{ succeeded: number; error?: unknown }> {
  let succeeded = 0;
  let begun = 0;
  for (let size = Math.min(1, count); size > 0; size = Math.min(2 * size, count - begun)) {
    const first = begun;
    const results = await Promise.allSettled(Array.from({ length: size }, (_, i) => act(first + i)));
    begun += size;
    succeeded += results.filter(({ status }) => status === "fulfilled").length;
    const failure = results.find((result) => result.status === "rejected");
    if (failure !== undefined) return { succeeded, error: failure.reason };
  }
  return { succeeded };
}
