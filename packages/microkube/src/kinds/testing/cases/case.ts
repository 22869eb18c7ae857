/** An object that is sent to both, good or bad, and what is tried with it afterwards. */
export interface KindCase {
  readonly group: string;
  readonly kind: string;
  /** What it is about, for the test's name. */
  readonly about: string;
  readonly object: Record<string, unknown>;
  /** Merge patches, each on the object as it was created. */
  readonly changes?: readonly Record<string, unknown>[];
}

/** Cases of one kind, briefly. */
export function casesOf(
  group: string,
  kind: string,
  cases: Readonly<Record<string, Record<string, unknown> | [Record<string, unknown>, ...Record<string, unknown>[]]>>,
): KindCase[] {
  return Object.entries(cases).map(([about, one]) => {
    const [object, ...changes] = Array.isArray(one) ? one : [one];
    return { group, kind, about, object: object as Record<string, unknown>, changes };
  });
}
