import { parseQuantity } from "@fjord/kube";

/** An amount, or a range of which each use draws one. */
export interface Span {
  readonly low: number;
  readonly high: number;
}

/** Reads the text of a setting; undefined where it is none of the kind. */
export interface ValueKind<T> {
  readonly expected: string;
  read(text: string): T | undefined;
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const durationGrammar = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;

/** Milliseconds; `never` is Infinity. */
export function readDuration(text: string): number | undefined {
  if (text === "never") return Number.POSITIVE_INFINITY;
  if (text === "0") return 0;
  if (!durationGrammar.test(text)) return undefined;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g);
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (units[unit ?? ""] ?? 0), 0);
}

/** `2s`, `1m30s`, `never`, or `1s-5s` for anything between. */
export const duration: ValueKind<Span> = {
  expected: "a time such as 500ms, 2s, 1m30s, a range such as 1s-5s, or never",
  read: (text) => readSpan(text, readDuration),
};

/** `250m`, `64Mi`, or `100m-300m` for an amount that rises and falls between the two; in units. */
export const amount: ValueKind<Span> = {
  expected: "an amount such as 250m or 64Mi, or a range such as 100m-300m",
  read: (text) => readSpan(text, readAmount),
};

export const probability: ValueKind<number> = {
  expected: "a probability from 0 to 1",
  read: (text) => (/^(?:0|1|0?\.\d+|1\.0+)$/.test(text) ? Number(text) : undefined),
};

export const exitCode: ValueKind<number> = {
  expected: "an exit code from 0 to 255",
  read: (text) => (/^\d{1,3}$/.test(text) && Number(text) <= 255 ? Number(text) : undefined),
};

export const words: ValueKind<string> = { expected: "a text", read: (text) => (text === "" ? undefined : text) };

/** The value that a draw from [0, 1) stands for. */
export function drawn({ low, high }: Span, draw: number): number {
  return high === low ? low : low + (high - low) * draw;
}

function readAmount(text: string): number | undefined {
  try {
    const value = Number(parseQuantity(text)) / 1e9;
    return value >= 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

function readSpan(text: string, read: (part: string) => number | undefined): Span | undefined {
  const [first = "", second, ...more] = text.trim().split("-");
  const low = read(first.trim());
  const high = second === undefined ? low : read(second.trim());
  if (low === undefined || high === undefined || more.length > 0 || high < low) return undefined;
  if (low !== high && !Number.isFinite(high)) return undefined;
  return { low, high };
}
