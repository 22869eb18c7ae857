import type { AddressPlan, Export, Import, Peering, Site } from "@fjord/api";
import { type Cache, isBeingDeleted } from "@fjord/kube";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { siteNames } from "../site-names.ts";
import { type ExportEntry, entriesFor, exportRanges, ownImports } from "./export-entries.ts";
import { newestCard } from "./introductions/introducers.ts";
import type { Meetings } from "./introductions/meetings.ts";
import type { NetworkControllerOptions } from "./network-controller.ts";
import { machineRanges, type OwnNetwork, ownNetwork } from "./own-network.ts";
import type { OwnObjects } from "./own-objects.ts";
import type { PeerWord } from "./peer-word.ts";

export interface SitePairsOptions
  extends Pick<NetworkControllerOptions, "home" | "own" | "contracts" | "twins" | "serviceRanges"> {
  readonly plans: Pick<OwnObjects<AddressPlan>, "get">;
  readonly peerings: Pick<Cache<Peering>, "list">;
  readonly siteObjects: Pick<Cache<Site>, "list">;
  readonly exports: Pick<Cache<Export>, "list">;
  readonly imports: Pick<Cache<Import>, "list">;
  readonly meetings: Meetings;
  wordOf(site: SiteId): PeerWord;
}

/** What is known of this site and another, with which pods are to meet. */
export interface SitePair {
  readonly site: SiteId;
  readonly own: OwnNetwork;
  readonly word: PeerWord;
  /** Whether one of the two owners asks for it: otherwise consumers introduce them, for their guests alone. */
  readonly isAsked: boolean;
  /** What it has said before holds. */
  readonly isSilent: boolean;
  readonly introducers: ReturnType<Meetings["introducersOf"]>;
  readonly facts: NetworkFacts | undefined;
  /** Whom this site introduces to it. */
  readonly others: ReturnType<Meetings["othersOf"]>;
  /** What this site exports to it. */
  readonly entries: readonly ExportEntry[];
  /** What own namespaces with guests there import of this site. */
  readonly imported: ReadonlyMap<string, readonly ExportEntry[]>;
}

/** Who is to meet whom, and by whose wish. */
export class SitePairs {
  readonly #options: SitePairsOptions;

  constructor(options: SitePairsOptions) {
    this.#options = options;
  }

  /** Undefined where nothing is to be between them. */
  with(site: SiteId): SitePair | undefined {
    const { exports, siteObjects, meetings, wordOf } = this.#options;
    const entries = entriesFor(exports.list(), siteNames(site, siteObjects.list()));
    const imported = this.#importedOf(site);
    const own = this.#own(site, [...entries, ...[...imported.values()].flat()]);
    if (own === undefined) return undefined;
    const word = wordOf(site);
    const isAsked = this.#isWanted(site, word);
    const introducers = meetings.introducersOf(site, own.pools);
    if (!isAsked && introducers.length === 0) return undefined;
    const said = !isAsked || word === "unknown" ? undefined : word.facts;
    // Its own word first, then what it has signed for others to bring.
    const facts = said ?? newestCard(introducers)?.facts;
    // What a peer has said holds while it is silent, and not when it has taken it back.
    const isSilent = word === "unknown" || introducers.length > 0;
    const others = isAsked ? meetings.othersOf(site) : [];
    return { site, own, word, isAsked, isSilent, introducers, facts, others, entries, imported };
  }

  /** Whether the owner asks for a link with it by a Peering. */
  isProvider(site: SiteId): boolean {
    return this.#options.peerings
      .list()
      .some((peering) => peering.spec.link && peering.status?.siteId === site && !isBeingDeleted(peering));
  }

  /** A consumer asks by its Peering; a provider serves whoever has a contract and asks. */
  #isWanted(site: SiteId, word: PeerWord): boolean {
    if (this.isProvider(site)) return true;
    if (this.#options.contracts.of(site).length === 0) return false;
    return word === "unknown" ? this.#options.plans.get(site) !== undefined : word.facts !== undefined;
  }

  /** What namespaces with guests at a site import of this one. */
  #importedOf(site: SiteId): Map<string, ExportEntry[]> {
    const { home, twins, exports, imports, siteObjects } = this.#options;
    const { id } = home.identity;
    const names = siteNames(id, siteObjects.list());
    const shared = new Set(twins.namespacesAt(site));
    const importing = imports.list().filter(({ metadata }) => shared.has(metadata.namespace ?? ""));
    return ownImports(exports.list(), importing, { id, names });
  }

  #own(site: SiteId, entries: readonly ExportEntry[]): OwnNetwork | undefined {
    const { own, serviceRanges } = this.#options;
    const object = own.object();
    const standing = this.isProvider(site) ? machineRanges(object) : [];
    const ranges = new Set([...exportRanges(entries), ...standing]);
    return ownNetwork(object, own.nodes(), serviceRanges, [...ranges]);
  }
}
