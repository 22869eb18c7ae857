/** From here on people are told. */
const WORTH_TELLING_MS = 10_000;

/** For whoever reads how a site is: nothing where its clock is nearly right. */
export function describeClock(ahead: number): string {
  if (Math.abs(ahead) < WORTH_TELLING_MS) return "";
  const seconds = Math.abs(Math.round(ahead / 1_000));
  const amount = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `; its clock is ${amount} ${ahead > 0 ? "ahead of" : "behind"} this site's: set both by the same source`;
}
