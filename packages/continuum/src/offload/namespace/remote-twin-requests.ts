import { TwinNamespace, tenantNamespace } from "@fjord/api";
import { ApiError, Cache, ifNotFound, isAlreadyExists } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { type RemoteSite, type RemoteSites, remoteTiming } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";

interface Watched {
  readonly remote: RemoteSite;
  readonly cache: Cache<TwinNamespace>;
  readonly stop: AbortController;
}

/** The own TwinNamespaces at every provider, kept in view. */
export class RemoteTwinRequests {
  readonly #home: Home;
  readonly #remotes: RemoteSites;
  readonly #watched = new Map<SiteId, Watched>();
  /** By `site/namespace`: why the provider took no request. */
  readonly #refusals = new Map<string, string>();
  readonly #onChange: (namespace: string | undefined) => void;

  /** `onChange` is told the namespace whose twin changed somewhere; none where all of a site's became known. */
  constructor(home: Home, remotes: RemoteSites, onChange: (namespace: string | undefined) => void) {
    this.#home = home;
    this.#remotes = remotes;
    this.#onChange = onChange;
  }

  /** Looks at exactly these sites from now on. */
  follow(sites: ReadonlySet<SiteId>): void {
    for (const [site, { stop, remote }] of this.#watched) {
      // A site that was forgotten and paired again is another object.
      if (sites.has(site) && this.#remotes.get(site) === remote) continue;
      stop.abort();
      this.#watched.delete(site);
    }
    for (const site of sites) if (!this.#watched.has(site)) this.#begin(site);
  }

  stop(): void {
    this.follow(new Set());
  }

  /** Whether what the site has is known; before that nothing can be said of its absence. */
  isKnown(site: SiteId): boolean {
    return this.#watched.get(site)?.cache.hasSynced ?? false;
  }

  get(site: SiteId, namespace: string): TwinNamespace | undefined {
    return this.#watched.get(site)?.cache.get({ namespace: this.#tenant, name: namespace });
  }

  /** Where there is something of the namespace that is not on its way out already. */
  sitesOf(namespace: string): SiteId[] {
    return [...this.#watched.keys()].filter((site) => {
      const request = this.get(site, namespace);
      return request !== undefined && request.metadata.deletionTimestamp === undefined;
    });
  }

  async create(site: SiteId, namespace: string, wantedName: string, signal: AbortSignal): Promise<void> {
    const object: TwinNamespace = {
      apiVersion: "fjord.dev/v1alpha1",
      kind: "TwinNamespace",
      metadata: { name: namespace, namespace: this.#tenant },
      spec: { originNamespace: namespace, wantedName },
    };
    const place = `${site}/${namespace}`;
    try {
      await this.#watched.get(site)?.remote.kube.create(TwinNamespace, object, { signal });
      this.#refusals.delete(place);
    } catch (error) {
      if (isAlreadyExists(error)) return;
      if (error instanceof ApiError && error.statusCode < 500) this.#refusals.set(place, error.message);
      throw error;
    }
  }

  /** Why the provider took no request for the namespace when it was last asked. */
  refusal(site: SiteId, namespace: string): string | undefined {
    return this.#refusals.get(`${site}/${namespace}`);
  }

  async delete(site: SiteId, namespace: string, signal: AbortSignal): Promise<void> {
    const key = { namespace: this.#tenant, name: namespace };
    await this.#watched.get(site)?.remote.kube.delete(TwinNamespace, key, { signal }).catch(ifNotFound);
  }

  get #tenant(): string {
    return tenantNamespace(this.#home.identity.id);
  }

  #begin(site: SiteId): void {
    const remote = this.#remotes.get(site);
    if (remote === undefined) return;
    const { clock, random, logger } = this.#home;
    const cache = new Cache({
      kind: TwinNamespace,
      client: remote.kube,
      scope: { namespace: this.#tenant },
      timing: remoteTiming,
      clock,
      random,
      logger,
    });
    const tell = ({ metadata }: TwinNamespace) => this.#onChange(metadata.name ?? "");
    cache.addHandler({ onAdd: tell, onUpdate: (_, object) => tell(object), onDelete: tell });
    const stop = new AbortController();
    void cache.run(stop.signal);
    void cache.waitForSync(stop.signal).then(
      () => this.#onChange(undefined),
      () => {},
    );
    this.#watched.set(site, { remote, cache, stop });
  }
}
