/** The texts of Kubernetes for what is no quantity. */
const WRONG_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_SUFFIX = "unable to parse quantity's suffix";

const decimalSuffixes: Record<string, number> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const decimalNames = new Map(Object.entries(decimalSuffixes).map(([name, exponent]) => [exponent, name]));
const NANO = 9;
const MOST = 2n ** 63n - 1n;

/**
 * The text that Kubernetes writes for an amount that it has read: `1000m` is `1`, `1024Ki` is `1Mi`, `0.5` is `500m`,
 * and what is in order stays as it was sent. Throws an Error with the server's text for what is no quantity.
 */
export function canonicalQuantity(sent: string): string {
  const text = sent.trim();
  if (/^[1-9]\d{0,2}(m|k|M|G|T)?$/.test(text)) return text;
  const [, sign, whole, point, fraction = "", suffix] =
    /^([+-]?)(\d*)(\.?)(\d*)([eEinumkKMGTP]*[-+]?\d*)$/.exec(text) ?? [];
  if (sign === undefined || whole === undefined || suffix === undefined || text === "") throw new Error(WRONG_FORM);
  if (whole === "" && point === "") throw new Error(WRONG_FORM);
  const digits = whole.replace(/^0+(?=\d)/, "") || "0";
  const form = interpret(suffix);
  if (form === undefined) throw new Error(WRONG_SUFFIX);
  if (staysAsIs(form, digits, fraction)) return text;
  return write(form, sign === "-", amount(form, digits, fraction));
}

interface Form {
  readonly kind: "decimal" | "exponent" | "binary";
  /** Of ten, or of two. */
  readonly exponent: number;
}

function interpret(suffix: string): Form | undefined {
  const decimal = decimalSuffixes[suffix];
  if (decimal !== undefined) return { kind: "decimal", exponent: decimal };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return { kind: "binary", exponent: binary * 10 };
  const exponent = /^[eE]([-+]?\d+)$/.exec(suffix)?.[1];
  return exponent === undefined || exponent.length > 5 ? undefined : { kind: "exponent", exponent: Number(exponent) };
}

/** Kubernetes keeps the text of a short amount that is written as it would write it, and of some that are nearly so. */
function staysAsIs({ kind, exponent }: Form, whole: string, fraction: string): boolean {
  if (kind === "binary") {
    const precision = 15 - whole.length - Math.trunc((exponent * 3) / 10) - 1;
    return fraction === "" && precision >= 0 && (Number(whole) & 7) !== 0;
  }
  const scale = exponent - fraction.length;
  const shifted = whole + fraction;
  if (18 - shifted.length < 0 || scale < -NANO) return false;
  return scale % 3 === 0 && !shifted.endsWith("000") && shifted[0] !== "0";
}

/** In billionths, rounded up: who asks for too little gets a little. */
function amount({ kind, exponent }: Form, whole: string, fraction: string): bigint {
  const value = BigInt(whole + fraction) * (kind === "binary" ? 2n ** BigInt(exponent) : 1n);
  const shift = NANO - fraction.length + (kind === "binary" ? 0 : exponent);
  const nano = shift >= 0 ? value * 10n ** BigInt(shift) : ceilDiv(value, 10n ** BigInt(-shift));
  const most = MOST * 10n ** BigInt(NANO);
  return kind === "binary" && nano > most ? most : nano;
}

function ceilDiv(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

function write({ kind }: Form, negative: boolean, nano: bigint): string {
  if (nano === 0n) return "0";
  const sign = negative ? "-" : "";
  const one = 10n ** BigInt(NANO);
  if (kind === "binary" && nano >= 1024n * one && nano % one === 0n) {
    const [digits, power] = reduce(nano / one, 1024n, binarySuffixes.length - 1);
    return `${sign}${digits}${binarySuffixes[power]}`;
  }
  const [digits, power] = reduce(nano, 1000n, kind === "exponent" ? Number.POSITIVE_INFINITY : 9);
  const exponent = power * 3 - NANO;
  const suffix = kind === "exponent" ? (exponent === 0 ? "" : `e${exponent}`) : decimalNames.get(exponent);
  return `${sign}${digits}${suffix}`;
}

/** Takes a base out of an amount as often as it is in it without a rest. */
function reduce(value: bigint, base: bigint, most: number): [digits: bigint, power: number] {
  let digits = value;
  let power = 0;
  while (power < most && digits % base === 0n) {
    digits /= base;
    power++;
  }
  return [digits, power];
}
