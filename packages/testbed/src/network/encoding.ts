// JSON has no infinity, which stands for a bandwidth without limit.

export function encode(value: unknown): string {
  return JSON.stringify(value, (_, each) => (each === Number.POSITIVE_INFINITY ? "Infinity" : each));
}

export function decode(text: string): unknown {
  return JSON.parse(text, (_, each) => (each === "Infinity" ? Number.POSITIVE_INFINITY : each));
}
