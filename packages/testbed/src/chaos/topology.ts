/** Who uses whom. Site 1 and site 2 are consumer and provider at once. */
export const SITES = ["site-1", "site-2", "site-3"] as const;
export type SiteName = (typeof SITES)[number];

export interface Bond {
  readonly consumer: SiteName;
  readonly provider: SiteName;
}

export const BONDS: readonly Bond[] = [
  { consumer: "site-1", provider: "site-2" },
  { consumer: "site-1", provider: "site-3" },
  { consumer: "site-2", provider: "site-1" },
];

/** What each site shares; small whole numbers, so that the sum of promises can be checked without Fjord's own code. */
export const SHARED_CPU = 40;
export const SHARED_PODS = 400;

/** Namespaces that users work in, by their site. */
export const NAMESPACES: readonly { readonly site: SiteName; readonly name: string }[] = [
  { site: "site-1", name: "alpha" },
  { site: "site-1", name: "beta" },
  { site: "site-1", name: "gamma" },
  { site: "site-2", name: "delta" },
];

export function providersOf(consumer: string): SiteName[] {
  return BONDS.filter((bond) => bond.consumer === consumer).map(({ provider }) => provider);
}

export function consumersOf(provider: string): SiteName[] {
  return BONDS.filter((bond) => bond.provider === provider).map(({ consumer }) => consumer);
}
