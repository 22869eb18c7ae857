/** One question and what became of it; times in milliseconds since the epoch. */
export interface Attempt {
  readonly at: number;
  /** How long the answer took; absent where none came. */
  readonly ms?: number;
  /** Who answered, or why nobody did. */
  readonly by?: string;
  /** From which port it was asked, where a connection was begun for it. */
  readonly port?: number;
}

export interface BlackHole {
  /** From the last attempt before it that was answered to the first one after it. */
  readonly ms: number;
  readonly from: number;
}

/**
 * The longest time in which whatever was sent got no answer. Times in which nothing was sent, as on a machine that is busy, are none: only what was
 * sent and lost counts.
 */
export function longestBlackHole(attempts: readonly Attempt[]): BlackHole {
  let longest: BlackHole = { ms: 0, from: 0 };
  let answered: number | undefined;
  let lost: number | undefined;
  for (const { at, ms } of attempts) {
    if (ms === undefined) {
      lost ??= at;
      continue;
    }
    if (lost !== undefined && at - (answered ?? lost) > longest.ms)
      longest = { ms: at - (answered ?? lost), from: answered ?? lost };
    answered = at;
    lost = undefined;
  }
  // One that has not ended is as long as is known.
  const open = lost === undefined ? 0 : (attempts.at(-1)?.at ?? 0) - (answered ?? lost);
  return open > longest.ms ? { ms: open, from: answered ?? lost ?? 0 } : longest;
}

/**
 * Those that failed, in words. Who asks from the port of one that failed is led where that was, for as long as a kernel remembers it: it says nothing of where
 * others are led.
 */
export function failures(attempts: readonly Attempt[], since: number): string[] {
  const seconds = (at: number) => `${((at - since) / 1000).toFixed(1)} s`;
  const before = new Map<number, number>();
  return attempts
    .filter(({ ms }) => ms === undefined)
    .map(({ at, by = "no answer", port = 0 }) => {
      const earlier = before.get(port);
      before.set(port, at);
      return `${by} at ${seconds(at)}${earlier === undefined || port === 0 ? "" : ` from the port of ${seconds(earlier)}`}`;
    });
}

/** How long after `since` an attempt was begun that failed, for the last time; 0 where none did. */
export function lastFailure(attempts: readonly Attempt[], since: number): number {
  const failed = attempts.filter(({ at, ms }) => at >= since && ms === undefined);
  return failed.reduce((last, { at }) => Math.max(last, at - since), 0);
}
