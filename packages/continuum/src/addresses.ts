import type { SiteId } from "./site-identity.ts";

/** A block of addresses, as a NetworkPolicy has it. */
export interface AddressBlock {
  readonly cidr: string;
  readonly except?: readonly string[];
}

/** As a Service has it. */
export type AddressFamily = "IPv4" | "IPv6";

/** What addresses are called across a border. Where no link is wanted with a site, all are called what they are. */
export interface Addresses {
  /** What an address of the site's is called here; undefined where it cannot be reached from here. */
  calledHere(site: SiteId, address: string): string | undefined;
  /**
   * What an address is called there that is this site's, or is called so here and is at the site `at`, or at any where that is not said; undefined where it cannot be reached
   * from there.
   */
  calledThere(site: SiteId, address: string, at?: SiteId): string | undefined;
  /** What a block of addresses, as they are here, is there. @default the same */
  blocksThere?(site: SiteId, block: AddressBlock): readonly AddressBlock[];
  /** What addresses the site's pods have; undefined where nobody has said. */
  familiesThere?(site: SiteId): readonly AddressFamily[] | undefined;
  /** Whether an address on the loopback of the site's machine may be a guest's. @default never: it would mean the own machine */
  allowsLoopback?(site: SiteId, address: string): boolean;
  /** Whether packets to the site's addresses are known to get nowhere just now. @default never */
  isSilent?(site: SiteId): boolean;
  /** Called with the site for which it has changed. */
  onChange(listener: (site: SiteId) => void): () => void;
}
