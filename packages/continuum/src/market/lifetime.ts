import type { Terms } from "../protocol.ts";

/** When a contract begins and ends, and from when on it is to be renewed: after two thirds of its lifetime. */
export interface Lifetime {
  readonly begins: number;
  readonly renewable: number;
  readonly ends: number;
}

export function lifetimeOf(terms: Pick<Terms, "notBefore" | "notAfter">): Lifetime {
  const begins = Date.parse(terms.notBefore);
  const ends = Date.parse(terms.notAfter);
  return { begins, renewable: begins + ((ends - begins) * 2) / 3, ends };
}
