import type { Contract } from "@fjord/api";

/**
 * When a contract begins and ends, and from when on it is to be renewed: after two thirds of its lifetime. Its terms say so by
 * the provider's clock, and this by the own one.
 */
export interface Lifetime {
  readonly begins: number;
  readonly renewable: number;
  readonly ends: number;
}

export function lifetimeOf({ spec: { terms }, status }: Contract): Lifetime {
  const ahead = (status?.clockAhead ?? 0) * 1_000;
  const begins = Date.parse(terms.notBefore) - ahead;
  const ends = Date.parse(terms.notAfter) - ahead;
  return { begins, renewable: begins + ((ends - begins) * 2) / 3, ends };
}
