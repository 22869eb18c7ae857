const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** As kubectl shows ages: two units while small, one when large: `45s`, `3m10s`, `26h`, `5d`, `2y40d`. */
export function humanDuration(milliseconds: number): string {
  // A clock that is a little behind is no reason to show nonsense.
  if (milliseconds < -2 * second) return "<invalid>";
  if (milliseconds < 0) return "0s";
  const seconds = Math.floor(milliseconds / second);
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(milliseconds / minute);
  if (minutes < 10) return withRest(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(milliseconds / hour);
  if (hours < 8) return withRest(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return withRest(days, "d", hours % 24, "h");
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.floor(hours / 24 / 365);
  if (hours < 24 * 365 * 8) return withRest(years, "y", days % 365, "d");
  return `${years}y`;
}

function withRest(amount: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${amount}${unit}` : `${amount}${unit}${rest}${restUnit}`;
}

/** How long ago a time was; `<unknown>` for none, which Kubernetes may write as null. */
export function since(time: string | null | undefined, now: number): string {
  return time ? humanDuration(now - Date.parse(time)) : "<unknown>";
}
