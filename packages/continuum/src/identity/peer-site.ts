import { newObject, Site } from "@fjord/api";
import { isAlreadyExists, isConflict, isNotFound, type KubeClient } from "@fjord/kube";
import type { SiteId } from "../site-identity.ts";
import { SiteKnownOtherwise, SiteNameTaken } from "./errors.ts";

export interface PeerFacts {
  readonly id: SiteId;
  /** What it calls itself; hostile. */
  readonly name?: string;
  /** What the owner calls it: this name and no other. */
  readonly chosenName?: string;
  /** Checked ones. */
  readonly endpoints: readonly string[];
  /** True grants; false leaves it as it is, and is what a new Site begins with. */
  readonly mayConsume: boolean;
}

const LONGEST_NAME = 50;
const ATTEMPTS = 5;

type Client = Pick<KubeClient, "list" | "get" | "create" | "update">;

/**
 * The Site object for a peer: the one that has its id, else a new one under a name that nobody has. No name that a peer
 * gives leads to an object of another id, nor to the own Site's.
 */
export async function ensurePeerSite(
  client: Client,
  facts: PeerFacts,
  ownName: string,
  signal?: AbortSignal,
): Promise<Site> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { items } = await client.list(Site, { signal });
      checkChosenName(items, facts, ownName);
      const found = items.find((site) => site.spec.id === facts.id);
      if (found === undefined) return await create(client, facts, ownName, signal);
      const wanted = merged(found, facts);
      return wanted === found ? found : await client.update(Site, wanted, { signal });
    } catch (error) {
      // Somebody wrote to it, or deleted it, in between.
      if (attempt === ATTEMPTS || !(isConflict(error) || isNotFound(error))) throw error;
    }
  }
}

/** Throws where the name that the owner has chosen for a peer is another site's, or the peer has another one. */
export function checkChosenName(
  sites: readonly Site[],
  { id, chosenName }: Pick<PeerFacts, "id" | "chosenName">,
  ownName: string,
): void {
  if (chosenName === undefined) return;
  const known = sites.find((site) => site.spec.id === id)?.metadata.name;
  if (known !== undefined && known !== chosenName) throw new SiteKnownOtherwise({ site: id, known, name: chosenName });
  const taken = sites.some(({ metadata, spec }) => metadata.name === chosenName && spec.id !== id);
  if (taken || chosenName === ownName) throw new SiteNameTaken({ site: id, names: chosenName });
}

/** Names for a peer's Site in the order in which they are tried. */
export function namesFor(
  { id, name, chosenName }: Omit<PeerFacts, "endpoints" | "mayConsume">,
  ownName: string,
): string[] {
  if (chosenName !== undefined) return chosenName === ownName ? [] : [chosenName];
  const given = objectNameFrom(name);
  const names = given === undefined ? [] : [given, `${given}-${id.slice(0, 6)}`];
  return [...names, `site-${id.slice(0, 8)}`, `site-${id}`].filter((each) => each !== ownName);
}

/** What of a name can be the name of an object: a-z, 0-9 and dashes. */
export function objectNameFrom(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const clean = name
    .slice(0, 256)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, LONGEST_NAME + 1)
    .replace(/^-+/, "")
    .slice(0, LONGEST_NAME)
    .replace(/-+$/, "");
  return clean === "" ? undefined : clean;
}

async function create(client: Client, facts: PeerFacts, ownName: string, signal?: AbortSignal): Promise<Site> {
  const { id, endpoints, mayConsume } = facts;
  const names = namesFor(facts, ownName);
  for (const name of names) {
    const site = newObject(Site, { metadata: { name }, spec: { id, endpoints: [...endpoints], mayConsume } });
    try {
      return await client.create(Site, site, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const there = await client.get(Site, { name }, { signal });
      // Made by another redemption of the same peer at the same time.
      if (there.spec.id === id) return client.update(Site, merged(there, facts), { signal });
    }
  }
  throw new SiteNameTaken({ site: id, names: names.join(", ") });
}

function merged(site: Site, { endpoints, mayConsume }: PeerFacts): Site {
  const same = JSON.stringify(site.spec.endpoints ?? []) === JSON.stringify(endpoints);
  const grants = mayConsume && !site.spec.mayConsume;
  if ((same || endpoints.length === 0) && !grants) return site;
  const spec = { ...site.spec, mayConsume: site.spec.mayConsume || mayConsume };
  return { ...site, spec: endpoints.length === 0 ? spec : { ...spec, endpoints: [...endpoints] } };
}
