import { AddressPlan, EXPORTED_ANNOTATION, Export, IMPORT_LABEL, Import, REFLECT_ANNOTATION, Site } from "@fjord/api";
import { describeError, type Kind, type KubeObject } from "@fjord/base";
import {
  type Cache,
  type Controller,
  done,
  EndpointSlice,
  ifNotFound,
  isAlreadyExists,
  isBeingDeleted,
  isForbidden,
  isInvalid,
  type Result,
  type Runnable,
  removeCondition,
  Service,
  sameContent,
  setCondition,
  watches,
} from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import type { RemoteSites } from "../remote-site.ts";
import { siteName, siteNames } from "../site-names.ts";
import type { Twins } from "../twins.ts";
import { entriesFor } from "./export-entries.ts";
import type { HeardNetworks } from "./heard-networks.ts";
import {
  type FoundImport,
  findImport,
  forgeImportService,
  forgeImportSlices,
  type ImportReason,
  type ImportStatus,
  isOfImport,
} from "./import-forge.ts";
import { type GuestSite, reachedByGuests } from "./import-guests.ts";
import { findOwnImport, forgeOwnSlices } from "./own-import.ts";
import { peerWord } from "./peer-word.ts";

export interface ImportControllerOptions {
  readonly home: Home;
  readonly sites: RemoteSites;
  readonly heard: HeardNetworks;
  readonly twins: Twins;
}

const FIELD_MANAGER = "fjord-network";

/** Finds what Imports ask for among what peers and this site export, and keeps a Service for it. */
export class ImportController implements Runnable {
  readonly name = "imports";
  readonly needsLeaderElection = true;
  readonly #options: ImportControllerOptions;
  readonly #imports: Cache<Import>;
  readonly #exports: Cache<Export>;
  readonly #plans: Cache<AddressPlan>;
  readonly #places: Cache<Site>;
  readonly #services: Cache<Service>;
  readonly #slices: Cache<EndpointSlice>;
  readonly #controller: Controller;

  constructor(options: ImportControllerOptions) {
    this.#options = options;
    const { caches } = options.home;
    this.#imports = caches.open(Import).cache;
    this.#exports = caches.open(Export).cache;
    this.#plans = caches.open(AddressPlan).cache;
    this.#places = caches.open(Site).cache;
    this.#services = caches.open(Service, { labelSelector: IMPORT_LABEL }).cache;
    this.#slices = caches.open(EndpointSlice, { labelSelector: IMPORT_LABEL }).cache;
    const owner = ({ metadata }: KubeObject) => [
      { name: metadata.labels?.[IMPORT_LABEL] ?? "", namespace: metadata.namespace ?? "" },
    ];
    this.#controller = homeController(options.home, {
      name: this.name,
      sources: [watches(this.#imports), watches(this.#services, { map: owner }), watches(this.#slices, { map: owner })],
      concurrency: 4,
      backoff: { initial: 100, max: 5_000 },
      reconcile: ({ name, namespace = "" }, { signal }) => this.#reconcile({ name, namespace }, signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const { sites, heard, twins } = this.#options;
    const all = () => this.#lookAtAll();
    const release = [
      sites.onChange(all),
      heard.onChange(all),
      twins.onChange(all),
      this.#exports.addHandler({ onAdd: all, onUpdate: all, onDelete: all }),
      this.#plans.addHandler({ onAdd: all, onUpdate: all, onDelete: all }),
      this.#places.addHandler({
        onAdd: all,
        onUpdate: (before, now) => {
          if (before.status?.id !== now.status?.id) all();
        },
        onDelete: all,
      }),
    ];
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      for (const each of release) each();
    }
  }

  #lookAtAll(): void {
    for (const { metadata } of this.#imports.list())
      this.#controller.enqueue({ name: metadata.name ?? "", namespace: metadata.namespace ?? "" });
  }

  async #reconcile(key: { name: string; namespace: string }, signal: AbortSignal): Promise<Result> {
    const object = this.#imports.get(key);
    // What it had goes with it: they have it as owner.
    if (object === undefined || isBeingDeleted(object)) return done();
    const found = this.#find(object);
    const outcome = await this.#keepService(object, found, signal);
    await this.#say(object, { ...found, ...outcome }, signal);
    return done();
  }

  #find(object: Import): FoundImport {
    const { heard, sites, home } = this.#options;
    const place = this.#places.get({ name: object.spec.site });
    const siteId = place?.status?.id ?? place?.spec.id;
    if (siteId === home.identity.id) {
      const entries = entriesFor(this.#exports.list(), siteNames(siteId, this.#places.list()));
      return findOwnImport(object, siteId, entries);
    }
    const plan = siteId === undefined ? undefined : this.#plans.get({ name: siteId })?.spec;
    const word = siteId === undefined ? "unknown" : peerWord(siteId, heard, sites);
    return findImport(object, { ...(siteId !== undefined && { siteId }), ...(plan && { plan }), word });
  }

  /** Addresses work without it: so what is wrong with it is said, and no more. */
  async #keepService(
    object: Import,
    found: FoundImport,
    signal: AbortSignal,
  ): Promise<{ readonly reason: ImportReason; readonly message: string } | undefined> {
    const { name = "", namespace = "" } = object.metadata;
    const isWanted = object.spec.service && found.ports.length > 0;
    const service = this.#services.get({ name, namespace });
    const slices = this.#slices.list(namespace).filter((slice) => isOfImport(slice, object));
    const forged = found.own ? forgeOwnSlices(object, found.own) : forgeImportSlices(object, found);
    const wanted = isWanted ? forged : [];
    for (const slice of slices)
      if (!wanted.some(({ metadata }) => metadata.name === slice.metadata.name))
        await this.#remove(EndpointSlice, slice, signal);
    if (!isWanted) {
      // Whoever has its address may be answered again: it goes only where nobody wants it.
      if (!object.spec.service && service !== undefined && isOfImport(service, object))
        await this.#remove(Service, service, signal);
      return undefined;
    }
    try {
      const mine = await this.#keep(Service, forgeImportService(object, found), service, object, signal);
      if (!mine)
        return { reason: "ServiceTaken", message: `Service ${name} is somebody else's: give the Import another name` };
      for (const slice of wanted) {
        const there = slices.find(({ metadata }) => metadata.name === slice.metadata.name);
        await this.#keep(EndpointSlice, slice, there, object, signal);
      }
      return undefined;
    } catch (error) {
      if (!isInvalid(error) && !isForbidden(error)) throw error;
      return { reason: "ServiceRefused", message: describeError(error) };
    }
  }

  /** False where there is another one of that name. */
  async #keep<T extends Service | EndpointSlice>(
    kind: Kind<T>,
    wanted: T,
    cached: T | undefined,
    object: Import,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client } = this.#options.home;
    const { name = "", namespace = "" } = wanted.metadata;
    const options = { fieldManager: FIELD_MANAGER, signal };
    if (cached === undefined) {
      try {
        await client.create<T>(kind, wanted, options);
        return true;
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
    const there = cached ?? (await client.get(kind, { name, namespace }, { signal }));
    if (!isOfImport(there, object)) return false;
    if (said(there) !== said(wanted)) await client.patch(kind, { name, namespace }, "merge", changeOf(wanted), options);
    return true;
  }

  async #remove<T extends Service | EndpointSlice>(kind: Kind<T>, { metadata }: T, signal: AbortSignal): Promise<void> {
    const { name = "", namespace = "", uid = "" } = metadata;
    const options = { preconditions: { uid }, signal };
    await this.#options.home.client.delete(kind, { name, namespace }, options).catch(ifNotFound);
  }

  #guestSites(namespace: string): GuestSite[] {
    return this.#options.twins.sitesOf(namespace).map((id) => {
      const plan = this.#plans.get({ name: id })?.spec;
      const name = siteName(id, this.#places.list());
      return { name, ...(plan && { plan }) };
    });
  }

  async #say(object: Import, found: FoundImport, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options.home;
    const { name = "", namespace = "", generation } = object.metadata;
    const { siteId, addresses, ports, reason, message } = found;
    const now = clock.now();
    const observed = generation === undefined ? {} : { observedGeneration: generation };
    const ready = {
      type: "Ready",
      status: reason === "Imported" ? "True" : "False",
      reason,
      message,
      ...observed,
    } as const;
    const guests = reachedByGuests(object, found, this.#guestSites(namespace));
    const said = setCondition(object.status?.conditions, ready, now).conditions;
    const { conditions } = guests
      ? setCondition(said, { ...guests, ...observed }, now)
      : removeCondition(said, "ReachedByGuests");
    const status: ImportStatus = {
      ...(siteId !== undefined && { siteId }),
      addresses: [...addresses],
      ports: [...ports],
      conditions,
    };
    if (sameContent(object.status ?? {}, status)) return;
    const patch = { status: { siteId: siteId ?? null, ...status } };
    const options = { subresource: "status", fieldManager: FIELD_MANAGER, signal };
    await client.patch(Import, { name, namespace }, "merge", patch, options).catch(ifNotFound);
  }
}

/** What of it an Import decides. */
function changeOf(object: Service | EndpointSlice): object {
  const metadata = { annotations: Object.fromEntries(notes(object)) };
  return "endpoints" in object
    ? { metadata, endpoints: object.endpoints, ports: object.ports }
    : { metadata, spec: { ports: (object as Service).spec?.ports } };
}

/** Whether and as what it is told elsewhere. */
function notes({ metadata }: Service | EndpointSlice): [string, string | null][] {
  return [REFLECT_ANNOTATION, EXPORTED_ANNOTATION].map((name) => [name, metadata.annotations?.[name] ?? null]);
}

/** By which two are the same, though servers add to them. */
function said(object: Service | EndpointSlice): string {
  const ports = "endpoints" in object ? object.ports : (object as Service).spec?.ports;
  const places = "endpoints" in object ? object.endpoints?.map(({ addresses }) => addresses) : [];
  return JSON.stringify([
    notes(object),
    places,
    ports?.map(({ name, protocol, port }) => [name ?? "", protocol, port]),
  ]);
}
