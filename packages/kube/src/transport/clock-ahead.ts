/** Differences up to this are next to nothing: an answer tells its time to the second, and takes a while. */
const NEGLIGIBLE_MS = 2_000;
/** That is no clock: no certificate would be good, either. */
const LONGEST_MS = 365 * 86_400_000;

/**
 * By how many milliseconds, in whole seconds, the clock of whoever answered is ahead of the own one, out of the `date` of its answer.
 * What was known before stays where the answer does not say more.
 */
export function clockAhead(
  date: string,
  { asked, answered }: { readonly asked: number; readonly answered: number },
  before: number,
): number {
  // Cut to the second: half a second later, in the mean.
  const said = Date.parse(date) + 500;
  if (Number.isNaN(said)) return before;
  const measured = said - (asked + answered) / 2;
  const doubt = NEGLIGIBLE_MS + Math.abs(answered - asked) / 2;
  if (Math.abs(measured - before) <= doubt || Math.abs(measured) > LONGEST_MS) return before;
  return Math.abs(measured) <= doubt ? 0 : Math.round(measured / 1_000) * 1_000;
}
