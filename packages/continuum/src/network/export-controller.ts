import { AddressPlan, Export, Site } from "@fjord/api";
import {
  type Cache,
  type Controller,
  done,
  EndpointSlice,
  Namespace,
  type Result,
  type Runnable,
  Service,
  type SharedCache,
  sameContent,
  watches,
} from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import { calledRanges } from "./address-plan.ts";
import { exportStatuses } from "./export-entries.ts";
import { exportedServices } from "./exported-services.ts";
import { OwnObjects } from "./own-objects.ts";

/** All of them at once, as no two may have the same address. */
const ALL = { name: "all" };
/** Endpoints come and go in bursts. */
const SETTLED_MS = 100;

/** What is followed of the whole site, while an Export speaks of Services. */
interface Followed extends Disposable {
  readonly namespaces: Cache<Namespace>;
  readonly services: Cache<Service>;
  readonly slices: Cache<EndpointSlice>;
}

/** Gives what Exports name addresses that stand for it on links, and says where these lead. */
export class ExportController implements Runnable {
  readonly name = "exports";
  readonly needsLeaderElection = true;
  readonly #home: Home;
  readonly #cache: Cache<Export>;
  readonly #exports: OwnObjects<Export>;
  readonly #plans: Cache<AddressPlan>;
  readonly #sites: Cache<Site>;
  readonly #controller: Controller;
  #followed: Followed | undefined;

  constructor(home: Home) {
    this.#home = home;
    this.#cache = home.caches.open(Export).cache;
    this.#plans = home.caches.open(AddressPlan).cache;
    this.#sites = home.caches.open(Site).cache;
    this.#exports = new OwnObjects(home.client, Export, this.#cache);
    this.#controller = homeController(home, {
      name: this.name,
      sources: [
        watches(this.#cache, { map: () => [ALL] }),
        // By what they are called alone.
        watches(this.#sites, { map: () => [ALL], when: ({ type }) => type !== "update" }),
      ],
      concurrency: 1,
      backoff: { initial: 100, max: 5_000 },
      reconcile: (_, { signal }) => this.#reconcile(signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      this.#followed?.[Symbol.dispose]();
      this.#followed = undefined;
    }
  }

  async #reconcile(signal: AbortSignal): Promise<Result> {
    const names = this.#cache.list().map(({ metadata }) => metadata.name ?? "");
    const exports = names.flatMap((name) => this.#exports.get(name) ?? []);
    await this.#follow(
      exports.some(({ spec }) => spec.services !== undefined),
      signal,
    );
    const sources = {
      namespaces: this.#followed?.namespaces.list() ?? [],
      services: this.#followed?.services.list() ?? [],
      slices: this.#followed?.slices.list() ?? [],
      elsewhere: this.#plans.list().flatMap(({ spec }) => calledRanges(spec)),
      agentNamespace: this.#home.namespace,
    };
    const known = new Set(this.#sites.list().map(({ metadata }) => metadata.name ?? ""));
    const servicesOf = (services: NonNullable<Export["spec"]["services"]>) => exportedServices(services, sources);
    const statuses = exportStatuses(exports, servicesOf, known, this.#home.clock.now());
    for (const each of exports) {
      const status = statuses.get(each.metadata.name ?? "");
      if (status !== undefined && !sameContent(each.status ?? {}, status))
        await this.#exports.say(each, status, signal);
    }
    return done();
  }

  /** All of them before anything is said: fewer would close what is open. */
  async #follow(isWanted: boolean, signal: AbortSignal): Promise<void> {
    if (!isWanted) {
      this.#followed?.[Symbol.dispose]();
      this.#followed = undefined;
      return;
    }
    this.#followed ??= this.#begin();
    const { namespaces, services, slices } = this.#followed;
    await Promise.all([namespaces, services, slices].map((cache) => cache.waitForSync(signal)));
  }

  #begin(): Followed {
    const { caches } = this.#home;
    const held = {
      namespaces: caches.open(Namespace),
      services: caches.open(Service),
      slices: caches.open(EndpointSlice),
    };
    const look = () => this.#controller.enqueue(ALL, SETTLED_MS);
    const handler = { onAdd: look, onUpdate: look, onDelete: look };
    const release = [
      held.namespaces.cache.addHandler(handler),
      held.services.cache.addHandler(handler),
      held.slices.cache.addHandler(handler),
      this.#plans.addHandler(handler),
    ];
    const shared: readonly Disposable[] = Object.values<SharedCache<never>>(held as never);
    return {
      namespaces: held.namespaces.cache,
      services: held.services.cache,
      slices: held.slices.cache,
      [Symbol.dispose]: () => {
        for (const each of release) each();
        for (const each of shared) each[Symbol.dispose]();
      },
    };
  }
}
