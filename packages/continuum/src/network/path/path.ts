import type { AddressPlan, Export, Link } from "@fjord/api";
import type { NetworkPolicy, Pod } from "@fjord/kube";

/** What one site's API says, as far as packets between two pods are concerned. */
export interface SiteView {
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** What other sites are called here. */
  nameOf(id: string | undefined): string | undefined;
  /** Whether a peer answers, where that is known. */
  reachable?(id: string): boolean | undefined;
  /** Of its own pods, as far as they are known. */
  readonly ranges: readonly string[];
  readonly plans: readonly AddressPlan[];
  readonly links: readonly Link[];
  /** Peers that the gateway would leave out, by id, and why. */
  readonly faults: ReadonlyMap<string, string>;
  /** What peers may reach besides pods. */
  readonly exports?: readonly Export[];
  /** Of the namespaces of both ends. */
  readonly policies: readonly NetworkPolicy[];
  /** Labels of these namespaces. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** A pod, or whatever has an address. */
export interface PathEnd {
  /** For people: `pod shop/web-1`. */
  readonly title: string;
  /** Id of the site that it is at; undefined where the address belongs to no site that has a link. */
  readonly site: string | undefined;
  /** As it is called at the site that is asked. */
  readonly address: string;
  /** As the API of the site that is asked has it. */
  readonly pod?: Pod;
  /** What the sender says for it: a word of its home's, by which nodes lead guests there. */
  readonly word?: { readonly address: string; readonly home: string };
  /** As the API of the site that it runs at has it, where that is another one, and may be asked too. */
  readonly there?: Pod;
}

export type HopVerdict = "Passes" | "Dropped" | "Unknown";

/** A place that a packet comes to, and what becomes of it there. */
export interface Hop {
  /** Name of the site; absent on the way between two. */
  readonly site?: string;
  readonly at: "pod" | "policy" | "network" | "gateway" | "agent" | "link";
  readonly what: string;
  /** The object that says so. */
  readonly rule?: string;
  /** What stands in the packet when it goes on. */
  readonly source: string;
  readonly destination: string;
  readonly verdict: HopVerdict;
}

export interface PacketPath {
  readonly from: string;
  readonly to: string;
  /** The last one is where it arrives, or is dropped. */
  readonly hops: readonly Hop[];
  /** Unknown: no hop that can be seen from here drops it, but some cannot be seen. */
  readonly verdict: "Delivered" | "Dropped" | "Unknown";
  /** What would let it pass. */
  readonly advice: readonly string[];
}
