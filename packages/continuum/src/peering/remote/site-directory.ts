import type { Site } from "@fjord/api";
import type { Cache } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";

/** The Site objects of peers by id. Where several name one id, the first by name counts. */
export class SiteDirectory {
  readonly #cache: Cache<Site>;
  readonly #own: SiteId;

  constructor(cache: Cache<Site>, own: SiteId) {
    this.#cache = cache;
    this.#own = own;
    cache.addIndex(BY_ID, (site) => (site.spec?.id === undefined ? [] : [site.spec.id]));
  }

  get(id: SiteId): Site | undefined {
    if (id === this.#own) return undefined;
    const sites = this.#cache.byIndex(BY_ID, id).filter((site) => site.metadata.deletionTimestamp === undefined);
    return sites.length < 2 ? sites[0] : sites.sort(byName)[0];
  }

  /** As `get`, and also a peer that is being forgotten: it still has to be told what ends. */
  find(id: SiteId): Site | undefined {
    return this.get(id) ?? (id === this.#own ? undefined : this.#cache.byIndex(BY_ID, id)[0]);
  }

  list(): readonly Site[] {
    const ids = new Set(this.#cache.list().flatMap((site) => site.spec?.id ?? []));
    return [...ids].flatMap((id) => this.get(id) ?? []);
  }

  /** Called with the id of a peer whose Site object came, went or changed. */
  onChange(listener: (id: SiteId) => void): () => void {
    const tell = (site: Site) => {
      if (site.spec?.id !== undefined && site.spec.id !== this.#own) listener(site.spec.id);
    };
    return this.#cache.addHandler({
      onAdd: tell,
      onDelete: tell,
      onUpdate: (old, site) => {
        tell(site);
        if (old.spec?.id !== site.spec?.id) tell(old);
      },
    });
  }
}

const BY_ID = "peer-id";

function byName(a: Site, b: Site): number {
  return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
}
