/** Runs `job` for 0..total-1 with a fixed number under way. */
export async function inParallel(total: number, concurrency: number, job: (index: number) => Promise<unknown>) {
  let next = 0;
  const worker = async () => {
    while (next < total) await job(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
