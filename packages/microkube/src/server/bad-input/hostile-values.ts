import type { Choice } from "./choice.ts";

export function nested(depth: number, open: string, close: string, core = "1"): string {
  return open.repeat(depth) + core + close.repeat(depth);
}

const texts = [
  "",
  "a",
  "default",
  "p",
  "kube-system",
  "-",
  "..",
  "/",
  "a/b/c",
  "\u0000",
  "\ud800",
  "é🦀",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "NaN",
  "1",
  "-1",
  "1e99999",
  "9".repeat(400),
  "100m",
  "10Gi",
  "1.5e3Ki",
  "0x10",
  "::1",
  "10.0.0.0/8",
  "999.999.999.999",
  "*",
  "*/5 * * * *",
  "0 0 31 2 *",
  "2024-01-01T00:00:00Z",
  "9999999-99-99T99:99:99Z",
  "$(A)$(B)",
  "{{.}}",
  "Always",
  "TCP",
  "http",
  "v1",
  "apps/v1",
  "a=b,c in (d)",
  "example.com/x",
  "(a+)+$",
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "self.all(x, self.all(y, self.all(z, x == z)))",
  "[1,2,3].map(x, [1,2,3].map(y, x * y)).size() > 0",
  "self == oldSelf",
  "object.metadata.name.matches('(a|a)*b')",
  ".spec.x",
  "..[*]",
  "a".repeat(254),
  "A-".repeat(600),
];

const numbers = [
  0,
  -1,
  1,
  3,
  80,
  65_536,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1.5,
  -0.0,
  1e308,
  Number.EPSILON,
  4_294_967_297,
];

/** What a reader of objects is least prepared for. */
export function hostileValue(choice: Choice): unknown {
  switch (choice.below(9)) {
    case 0:
      return null;
    case 1:
      return choice.chance(0.5);
    case 2:
    case 3:
      return choice.one(numbers);
    case 4:
      return [];
    case 5:
      return {};
    case 6:
      return JSON.parse(nested(choice.one([2, 50, 400]), '{"a":[', "]}"));
    case 7:
      return Array.from({ length: choice.one([1, 3, 100]) }, () => choice.one([null, {}, "", 1, []]));
    default:
      return hostileText(choice);
  }
}

export function hostileText(choice: Choice): string {
  // Rarely large: what is quadratic shows.
  if (choice.chance(0.002)) return choice.one(["a", "a.", "é", " ", "(", "a-"]).repeat(200_000);
  return choice.one(texts);
}

export function hostileNumber(choice: Choice): number {
  return choice.one(numbers);
}
