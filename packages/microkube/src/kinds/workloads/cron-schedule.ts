interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: Readonly<Record<string, number>>;
}

const numbered = (names: string, first: number): Record<string, number> =>
  Object.fromEntries(names.split(" ").map((name, i) => [name, first + i]));

const fields: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1) },
  { min: 0, max: 6, names: numbered("sun mon tue wed thu fri sat", 0) },
];
const descriptors = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/** What is wrong with a schedule, in the words of Kubernetes' parser; undefined for a right one. */
export function cronErrorText(schedule: string): string | undefined {
  const plain = schedule.replace(/^(CRON_)?TZ=\S+\s+/, "").trim();
  if (plain.startsWith("@")) {
    if (descriptors.includes(plain) || /^@every (\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(plain)) return undefined;
    return `unrecognized descriptor: ${plain}`;
  }
  const parts = plain.split(/\s+/).filter((part) => part !== "");
  if (parts.length !== fields.length) {
    return `expected exactly 5 fields, found ${parts.length}: [${parts.join(" ")}]`;
  }
  for (const [i, part] of parts.entries()) {
    for (const piece of part.split(",")) {
      const text = pieceError(piece, fields[i] as Bounds);
      if (text !== undefined) return text;
    }
  }
  return undefined;
}

function pieceError(piece: string, bounds: Bounds): string | undefined {
  const [range = "", step, ...more] = piece.split("/");
  const ends = range.split("-");
  let start = bounds.min;
  let end = bounds.max;
  if (ends[0] !== "*" && ends[0] !== "?") {
    const first = numberOf(ends[0] ?? "", bounds);
    if (typeof first === "string") return first;
    start = first;
    if (ends.length > 2) return `too many hyphens: ${piece}`;
    const last = ends.length === 2 ? numberOf(ends[1] ?? "", bounds) : first;
    if (typeof last === "string") return last;
    end = ends.length === 1 && step !== undefined ? bounds.max : last;
  }
  if (more.length > 0) return `too many slashes: ${piece}`;
  if (step !== undefined) {
    const every = numberOf(step, {} as Bounds);
    if (typeof every === "string") return every;
    if (every === 0) return `step of range should be a positive number: ${piece}`;
  }
  if (start < bounds.min) return `beginning of range (${start}) below minimum (${bounds.min}): ${piece}`;
  if (end > bounds.max) return `end of range (${end}) above maximum (${bounds.max}): ${piece}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${piece}`;
  return undefined;
}

function numberOf(text: string, { names }: Bounds): number | string {
  const named = names?.[text.toLowerCase()];
  if (named !== undefined) return named;
  if (/^\d+$/.test(text)) return Number(text);
  if (/^-\d+$/.test(text)) return `negative number (${text}) not allowed: ${text}`;
  return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
}
