import { FORCE_REMOVE_ANNOTATION, Peering, Site } from "@fjord/api";
import {
  addFinalizer,
  type Cache,
  type Controller,
  done,
  hasFinalizer,
  isBeingDeleted,
  isNotFound,
  type Result,
  type Runnable,
  removeFinalizer,
  sameContent,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import type { ContractBook } from "../../market/index.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { OwnSite } from "./own-site.ts";
import { isForced } from "./peering-end.ts";
import { ownStatus, peerStatus, type SiteStatus } from "./site-status.ts";

export const SITE_FINALIZER = "fjord.dev/site";

const AMOUNTS_AFTER_MS = 250;

export interface SiteControllerOptions {
  readonly home: Home;
  readonly own: OwnSite;
  readonly sites: RemoteSites;
  readonly book: ContractBook;
}

/** Keeps the Site objects: says what is known of each site, and takes back what ties this one to a peer that is to go. */
export class SiteController implements Runnable {
  readonly name = "sites";
  readonly needsLeaderElection = true;
  readonly #options: SiteControllerOptions;
  readonly #controller: Controller;
  readonly #sites: Cache<Site>;
  readonly #peerings: Cache<Peering>;

  constructor(options: SiteControllerOptions) {
    this.#options = options;
    const { caches } = options.home;
    this.#sites = caches.open(Site).cache;
    this.#peerings = caches.open(Peering).cache;
    this.#controller = homeController(options.home, {
      name: this.name,
      sources: [
        watches(this.#sites),
        watches(this.#peerings, { map: ({ spec }) => [{ name: spec.site }], when: ({ type }) => type === "delete" }),
      ],
      concurrency: 4,
      backoff: { initial: 50, max: 5_000 },
      reconcile: ({ name }, { signal }) => this.#reconcile(name, signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    const { own, sites, book } = this.#options;
    const ownChanged = () => this.#controller.enqueue({ name: own.name });
    const unsubscribe = [
      sites.onChange((id) => this.#siteChanged(id)),
      own.onChange(ownChanged),
      // Nobody waits for the amounts in the Site, and contracts come in bursts.
      book.onChange((consumer) => {
        this.#controller.enqueue({ name: own.name }, AMOUNTS_AFTER_MS);
        this.#siteChanged(consumer);
      }),
    ];
    const nodes = own.run(stop);
    ownChanged();
    try {
      await this.#controller.run(stop, abandon);
      await nodes;
    } finally {
      for (const each of unsubscribe) each();
    }
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Result> {
    const { own, home, sites, book } = this.#options;
    const site = this.#sites.get({ name });
    if (name === own.name) return await this.#keepOwn(site, signal);
    if (site === undefined) return done();
    if (isBeingDeleted(site)) return await this.#part(site, signal);
    if (site.spec.id === undefined) return done();
    const kept = await addFinalizer(home.client, Site, site, SITE_FINALIZER, { signal });
    const { id } = site.spec;
    const now = home.clock.now();
    const status = peerStatus(kept, sites.get(id), own.published().version, now, book.isClosedTo(id));
    await this.#say(kept, status, signal);
    return done();
  }

  async #keepOwn(found: Site | undefined, signal: AbortSignal): Promise<Result> {
    const { own, home, book } = this.#options;
    if (found === undefined) {
      await own.make(signal);
      return done();
    }
    const status = ownStatus(found, home, own.published(), book.shared(), home.clock.now());
    await this.#say(found, status, signal);
    return done();
  }

  /** A peer that is to go takes with it what it has here, and what this site has there. */
  async #part(site: Site, signal: AbortSignal): Promise<Result> {
    const { home, book } = this.#options;
    if (!hasFinalizer(site, SITE_FINALIZER)) return done();
    if (site.spec.id !== undefined) await book.forget(site.spec.id);
    const peerings = this.#peerings.list().filter(({ spec }) => spec.site === site.metadata.name);
    for (const peering of peerings) await this.#endPeering(peering, isForced(site), signal);
    // Each of them brings this Site back when it is gone.
    if (peerings.length > 0) return done();
    await removeFinalizer(home.client, Site, site, SITE_FINALIZER, { signal });
    return done();
  }

  async #endPeering(peering: Peering, forced: boolean, signal: AbortSignal): Promise<void> {
    const { client } = this.#options.home;
    const key = { name: peering.metadata.name ?? "" };
    try {
      if (forced && !isForced(peering)) {
        const patch = { metadata: { annotations: { [FORCE_REMOVE_ANNOTATION]: "true" } } };
        await client.patch(Peering, key, "merge", patch, { signal });
      }
      if (!isBeingDeleted(peering)) {
        await client.delete(Peering, key, { preconditions: { uid: peering.metadata.uid ?? "" }, signal });
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #say(site: Site, status: SiteStatus, signal: AbortSignal): Promise<void> {
    if (sameContent(status, site.status)) return;
    const key = { name: site.metadata.name ?? "" };
    // Who the gateway is it says itself, and what is known of that here may be old.
    const { gateway: _, ...said } = status;
    await this.#options.home.client.patch(Site, key, "merge", { status: said }, { subresource: "status", signal });
  }

  #siteChanged(id: SiteId): void {
    for (const { metadata, spec } of this.#sites.list()) {
      if (spec.id === id) this.#controller.enqueue({ name: metadata.name ?? "" });
    }
  }
}
