import { Offloading } from "@fjord/api";
import type { Cache, SharedCaches } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";

type BySite = ReadonlyMap<SiteId, string>;

/** Twins as the status of the own Offloadings tells of them, so that a restart knows them at once. */
export class KnownTwins implements Twins {
  /** By namespace, then by site. */
  readonly #twins = new Map<string, BySite>();
  /** By namespace, then by site: why there is none. */
  readonly #lacks = new Map<string, BySite>();
  /** By site, then by twin. */
  readonly #origins = new Map<SiteId, Map<string, string>>();
  readonly #listeners = new Set<(site: SiteId, namespace: string) => void>();

  constructor(caches: SharedCaches) {
    const offloadings: Cache<Offloading> = caches.open(Offloading).cache;
    offloadings.addHandler({
      onAdd: (object) => this.#take(object.metadata.namespace ?? "", usableTwins(object), lacksOf(object)),
      onUpdate: (_, object) => this.#take(object.metadata.namespace ?? "", usableTwins(object), lacksOf(object)),
      onDelete: (object) => this.#take(object.metadata.namespace ?? "", new Map(), new Map()),
    });
  }

  twinOf(site: SiteId, namespace: string): string | undefined {
    return this.#twins.get(namespace)?.get(site);
  }

  lackOf(site: SiteId, namespace: string): string | undefined {
    return this.#lacks.get(namespace)?.get(site);
  }

  originOf(site: SiteId, twin: string): string | undefined {
    return this.#origins.get(site)?.get(twin);
  }

  namespacesAt(site: SiteId): readonly string[] {
    return [...(this.#origins.get(site)?.values() ?? [])];
  }

  sitesOf(namespace: string): readonly SiteId[] {
    return [...(this.#twins.get(namespace)?.keys() ?? [])];
  }

  onChange(listener: (site: SiteId, namespace: string) => void): () => void {
    const own = (site: SiteId, namespace: string) => listener(site, namespace);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  #take(namespace: string, twins: BySite, lacks: BySite): void {
    const before = exchanged(this.#twins, namespace, twins);
    const lackedBefore = exchanged(this.#lacks, namespace, lacks);
    const changed = differences(before, twins);
    for (const site of changed) this.#exchange(site, namespace, before.get(site), twins.get(site));
    for (const site of new Set([...changed, ...differences(lackedBefore, lacks)]))
      for (const listener of this.#listeners) listener(site, namespace);
  }

  #exchange(site: SiteId, namespace: string, before: string | undefined, after: string | undefined): void {
    const origins = this.#origins.get(site) ?? new Map<string, string>();
    if (before !== undefined && origins.get(before) === namespace) origins.delete(before);
    if (after !== undefined) origins.set(after, namespace);
    if (origins.size > 0) this.#origins.set(site, origins);
    else this.#origins.delete(site);
  }
}

/** What was there before. */
function exchanged(all: Map<string, BySite>, namespace: string, now: BySite): BySite {
  const before = all.get(namespace) ?? new Map<SiteId, string>();
  if (now.size > 0) all.set(namespace, now);
  else all.delete(namespace);
  return before;
}

function differences(before: BySite, now: BySite): SiteId[] {
  return [...new Set([...before.keys(), ...now.keys()])].filter((site) => before.get(site) !== now.get(site));
}

/** Of sites that were asked and have said no, or cannot be asked. */
function lacksOf({ status }: Offloading): Map<SiteId, string> {
  const lacks = new Map<SiteId, string>();
  for (const { site, conditions = [] } of status?.sites ?? []) {
    const ready = conditions.find(({ type }) => type === "Ready");
    if (ready?.status === "False" && ready.reason !== "AwaitingTwin")
      lacks.set(site, `${ready.reason}: ${ready.message}`);
  }
  return lacks;
}

function usableTwins({ status }: Offloading): Map<SiteId, string> {
  const twins = new Map<SiteId, string>();
  for (const { site, twin, conditions = [] } of status?.sites ?? []) {
    // A twin at a site that does not answer now is still the twin.
    const usable = conditions.some(
      ({ type, status, reason }) => type === "Ready" && (status === "True" || reason === "SiteUnreachable"),
    );
    if (twin !== undefined && usable) twins.set(site, twin);
  }
  return twins;
}
