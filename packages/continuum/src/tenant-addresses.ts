import type { SiteId } from "./site-identity.ts";

/** Where a provider lets objects of its consumers lead. */
export interface TenantAddresses {
  /** False while too little is known to say, as in an agent that has just started. */
  isKnown(): boolean;
  /** Why endpoints of a consumer may not lead to one of the addresses; undefined where they may. */
  endpointProblem(consumer: SiteId, addresses: readonly string[]): string | undefined;
  /** The same of what a consumer has outside: all that is neither the provider's nor another peer's. */
  outsideProblem(consumer: SiteId, address: string): string | undefined;
}
