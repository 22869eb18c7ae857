/** A moment as clocks on the wall of a time zone show it. */
export interface ZonedTime {
  readonly month: number;
  readonly day: number;
  /** Sunday is 0. */
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Throws a RangeError for a zone that nobody knows. */
function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formats.set(zone, format);
  }
  return format;
}

export function zonedTime(ms: number, zone: string): ZonedTime {
  const date = new Date(ms + offsetMs(ms, zone));
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
  };
}

/** How far a zone's clocks are ahead of UTC. */
function offsetMs(ms: number, zone: string): number {
  if (zone === "UTC" || zone === "Etc/UTC") return 0;
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(ms)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
}

/** RFC 3339 with the zone's own offset. */
export function zonedTimestamp(ms: number, zone: string): string {
  const offset = Math.round(offsetMs(ms, zone) / 60_000);
  const local = new Date(ms + offset * 60_000).toISOString().replace(/\.\d+Z$/, "");
  if (offset === 0) return `${local}Z`;
  const two = (value: number) => String(value).padStart(2, "0");
  const size = Math.abs(offset);
  return `${local}${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

export function isKnownZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}
