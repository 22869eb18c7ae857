import type { Environment } from "@marcbachmann/cel-js";

const TYPE = "kubernetes.Semver";

/** A version as semver.org has it. */
class CelVersion {
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly before: readonly string[];
  readonly #text: string;
  constructor(numbers: readonly [bigint, bigint, bigint], before: readonly string[], text: string) {
    this.numbers = numbers;
    this.before = before;
    this.#text = text;
  }
  /** What was built is no part of it where versions are compared. */
  valueOf(): string {
    return this.#text;
  }
}

/** `semver("1.2.3")`, and with `true` also what people write: `v1.2`. */
export function registerVersions(environment: Environment): void {
  environment
    .registerType(TYPE, { ctor: CelVersion, fields: {} })
    .registerFunction("isSemver(string): bool", (text: string) => typeof read(text) !== "string")
    .registerFunction(
      "isSemver(string, bool): bool",
      (text: string, asWritten: boolean) => typeof read(asWritten ? normal(text) : text) !== "string",
    )
    .registerFunction(`semver(string): ${TYPE}`, (text: string) => versionOf(text))
    .registerFunction(`semver(string, bool): ${TYPE}`, (text: string, asWritten: boolean) =>
      versionOf(asWritten ? normal(text) : text),
    )
    .registerFunction(`${TYPE}.major(): int`, ({ numbers }: CelVersion) => numbers[0])
    .registerFunction(`${TYPE}.minor(): int`, ({ numbers }: CelVersion) => numbers[1])
    .registerFunction(`${TYPE}.patch(): int`, ({ numbers }: CelVersion) => numbers[2])
    .registerFunction(`${TYPE}.compareTo(${TYPE}): int`, (a: CelVersion, b: CelVersion) => BigInt(compare(a, b)))
    .registerFunction(`${TYPE}.isGreaterThan(${TYPE}): bool`, (a: CelVersion, b: CelVersion) => compare(a, b) > 0)
    .registerFunction(`${TYPE}.isLessThan(${TYPE}): bool`, (a: CelVersion, b: CelVersion) => compare(a, b) < 0)
    .registerOperator(`${TYPE} == ${TYPE}`, (a: CelVersion, b: CelVersion) => compare(a, b) === 0);
}

function versionOf(text: string): CelVersion {
  const version = read(text);
  if (typeof version === "string") throw new Error(version);
  return version;
}

/** The version, or what is wrong with it. */
function read(text: string): CelVersion | string {
  if (text === "") return "Version string empty";
  const [, core = "", before, built] = /^([^-+]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(text) ?? [];
  const parts = core.split(".");
  if (parts.length !== 3) return "No Major.Minor.Patch elements found";
  for (const [index, part] of parts.entries()) {
    const name = ["major", "minor", "patch"][index];
    if (!/^\d+$/.test(part)) return `Invalid character(s) found in ${name} number "${part}"`;
    if (part.length > 1 && part.startsWith("0")) {
      return `${name?.replace(/^./, (first) => first.toUpperCase())} number must not contain leading zeroes "${part}"`;
    }
    if (BigInt(part) > 0xffff_ffff_ffff_ffffn) return `strconv.ParseUint: parsing "${part}": value out of range`;
  }
  const releases = before === undefined ? [] : before.split(".");
  for (const part of releases) {
    if (part === "") return "Prerelease is empty";
    if (/^\d+$/.test(part)) {
      if (part.length > 1 && part.startsWith("0")) {
        return `Numeric PreRelease version must not contain leading zeroes "${part}"`;
      }
    } else if (!/^[0-9A-Za-z-]+$/.test(part)) return `Invalid character(s) found in prerelease "${part}"`;
  }
  for (const part of built === undefined ? [] : built.split(".")) {
    if (part === "") return "Build meta data is empty";
    if (!/^[0-9A-Za-z-]+$/.test(part)) return `Invalid character(s) found in build meta data "${part}"`;
  }
  const [major = 0n, minor = 0n, patch = 0n] = parts.map(BigInt);
  return new CelVersion([major, minor, patch], releases, `${core}-${releases.join(".")}`);
}

/** Without a `v`, without zeros that say nothing, with the numbers that were left out. */
function normal(text: string): string {
  const [, core = "", rest = ""] = /^v?([^-+]*)(.*)$/s.exec(text) ?? [];
  const parts = core.split(".").map((part) => part.replace(/^0+(?=\d)/, ""));
  if (parts.length < 3 && rest !== "") return text;
  while (parts.length < 3) parts.push("0");
  return `${parts.join(".")}${rest}`;
}

function compare(a: CelVersion, b: CelVersion): -1 | 0 | 1 {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] as bigint;
    if (number !== other) return number < other ? -1 : 1;
  }
  // What comes before a version is less than it.
  if (a.before.length === 0 || b.before.length === 0) {
    return a.before.length === b.before.length ? 0 : a.before.length === 0 ? 1 : -1;
  }
  for (const [index, part] of a.before.entries()) {
    const other = b.before[index];
    if (other === undefined) return 1;
    const order = compareParts(part, other);
    if (order !== 0) return order;
  }
  return a.before.length < b.before.length ? -1 : 0;
}

/** Numbers come before words. */
function compareParts(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  const [isNumber, otherIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && otherIsNumber) return BigInt(a) < BigInt(b) ? -1 : 1;
  if (isNumber !== otherIsNumber) return isNumber ? -1 : 1;
  return a < b ? -1 : 1;
}
