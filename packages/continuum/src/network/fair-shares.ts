/** Who wants no more than an equal share of what is left gets all of it; the others get equal shares of the rest. */
export function fairShares(wanted: ReadonlyMap<string, number>, most: number): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  let left = most;
  let holders = wanted.size;
  for (const [holder, count] of [...wanted].sort(([, a], [, b]) => a - b)) {
    const share = Math.min(count, Math.floor(left / holders));
    shares.set(holder, share);
    left -= share;
    holders--;
  }
  return shares;
}
