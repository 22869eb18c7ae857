/** Whether CEL takes two values for the same: numbers by what they are worth, whatever kind of number they are. */
export function areSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const [one, other] = [plainNumber(a), plainNumber(b)];
  // biome-ignore lint/suspicious/noDoubleEquals: an integer and a double may be worth the same
  if (one !== undefined && other !== undefined) return one == other;
  if (!isComposite(a) || !isComposite(b)) return false;
  if (a instanceof Date || b instanceof Date) return a instanceof Date && b instanceof Date && +a === +b;
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    return a instanceof Uint8Array && b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((part, index) => areSame(part, b[index]));
  }
  if (hasWorth(a) || hasWorth(b)) return hasWorth(a) && hasWorth(b) && areSame(a.valueOf(), b.valueOf());
  const [ofA, ofB] = [entriesOf(a), entriesOf(b)];
  return ofA.size === ofB.size && [...ofA].every(([key, part]) => ofB.has(key) && areSame(part, ofB.get(key)));
}

/** Entries of a map, in either form that it may have. */
export function entriesOf(map: object): Map<unknown, unknown> {
  return map instanceof Map ? map : new Map<unknown, unknown>(Object.entries(map));
}

const isComposite = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Values of classes say what they are worth: durations, addresses, versions. */
const hasWorth = (value: object): boolean => value.valueOf() !== value;

function plainNumber(value: unknown): number | bigint | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value;
  // The library's unsigned integers.
  if (!isComposite(value) || !("verify" in value)) return undefined;
  const worth: unknown = value.valueOf();
  return typeof worth === "bigint" ? worth : undefined;
}
