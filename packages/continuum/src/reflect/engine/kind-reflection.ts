import { apiVersionOf, type KubeObject } from "@fjord/base";
import {
  ApiError,
  againAfter,
  type Controller,
  done,
  ifNotFound,
  isConflict,
  isNotFound,
  type ReconcileContext,
  type Request,
  type Result,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import { resourceOf } from "../../reflection-rules.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";
import type { Body, ReflectedKind, TwinContext } from "../reflected-kind.ts";
import { difference } from "./difference.ts";
import { HomeObjects } from "./home-objects.ts";
import { readable, refusalAdvice } from "./list-refusal.ts";
import type { Policies } from "./policies.ts";
import { mayHaveTwin } from "./policy.ts";
import type { ReflectionCounters } from "./reflection-counters.ts";
import { RemoteTwins } from "./remote-twins.ts";
import type { SiteReferences } from "./site-references.ts";
import { isOfEarlier, twinMetadata } from "./twin-metadata.ts";
import type { Alignment, WantedTwin } from "./twin-writer.ts";

export interface KindReflectionOptions<T extends KubeObject> {
  readonly home: Home;
  readonly kind: ReflectedKind<T>;
  readonly twins: Twins;
  readonly sites: RemoteSites;
  readonly policies: Policies;
  readonly references: SiteReferences;
  readonly counters: ReflectionCounters;
  readonly contextOf: (site: SiteId, namespace: string) => TwinContext;
  /** Whether all own pods of a namespace are known. */
  readonly knowsPods: (namespace: string) => boolean;
  /** Asked of another reflected kind: whether an object may have a twin at a site. */
  readonly mayHaveTwin: (resource: string, site: SiteId, namespace: string, name: string) => boolean;
}

/** How long until an object that is in a twin's place is looked for again. */
const COLLISION_MS = 3_000;
const CONCURRENCY = 8;

/** Keeps the twins of one kind aligned, at all sites. Knows of the kind only what its `ReflectedKind` says. */
export class KindReflection<T extends KubeObject> {
  readonly resource: string;
  readonly kind: ReflectedKind<T>;
  readonly #options: KindReflectionOptions<T>;
  readonly #controller: Controller;
  readonly #objects: HomeObjects<T>;
  readonly #remotes = new Map<SiteId, RemoteTwins<T>>();
  readonly #sourceListeners = new Set<(namespace: string, name: string) => void>();
  #ended = false;

  constructor(options: KindReflectionOptions<T>) {
    this.#options = options;
    this.kind = options.kind;
    this.resource = resourceOf(options.kind.kind);
    this.#objects = new HomeObjects({
      home: options.home,
      kind: options.kind.kind,
      onChange: (namespace, name) => this.#sourceChanged(namespace, name),
      onSync: (namespace) => this.enqueueNamespace(namespace),
    });
    this.#controller = homeController(options.home, {
      name: `reflect-${this.resource}`,
      sources: [],
      reconcile: (request, context) => this.#reconcile(request, context),
      concurrency: CONCURRENCY,
      waitsOn: ({ name: place }) => place.slice(0, place.indexOf("/")),
      backoff: { initial: 100, max: 30_000 },
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    await this.#controller.run(stop, abandon);
    this.#ended = true;
    for (const namespace of this.#objects.namespaces()) this.#objects.leave(namespace);
    for (const remote of this.#remotes.values()) remote.stop();
    this.#remotes.clear();
  }

  /** Looks at exactly those namespaces and sites that have twins. Called whenever these, or the rules, may have changed. */
  follow(namespaces: ReadonlySet<string>, sites: ReadonlySet<SiteId>): void {
    if (this.#ended) return;
    for (const namespace of this.#objects.namespaces())
      if (!namespaces.has(namespace) || this.#isIgnored(namespace)) this.#leave(namespace);
    for (const namespace of namespaces)
      if (!this.#objects.has(namespace) && !this.#isIgnored(namespace)) this.#objects.follow(namespace);
    for (const [id, remote] of this.#remotes) {
      // A site that was forgotten and paired again is another object.
      if (sites.has(id) && this.#options.sites.get(id) === remote.site) continue;
      remote.stop();
      this.#remotes.delete(id);
    }
    for (const id of sites) if (!this.#remotes.has(id)) this.#begin(id);
  }

  /** Looks again at all objects of a namespace, everywhere or at one site. */
  enqueueNamespace(namespace: string, site?: SiteId): void {
    const { twins } = this.#options;
    const sources = this.#objects.list(namespace);
    for (const id of site === undefined ? twins.sitesOf(namespace) : [site]) {
      for (const { metadata } of sources) this.enqueue(id, namespace, metadata.name ?? "");
      const twin = twins.twinOf(id, namespace);
      for (const { metadata } of this.#remotes.get(id)?.list() ?? [])
        if (metadata.namespace === twin) this.enqueue(id, namespace, metadata.name ?? "");
    }
  }

  /** Looks again at objects whose twins depend on pods of a namespace. */
  enqueuePodsOf(changed: string): void {
    const { podNamespaces } = this.kind;
    if (podNamespaces === undefined) return;
    const { twins, contextOf } = this.#options;
    for (const namespace of this.#objects.namespaces())
      for (const object of this.#objects.list(namespace))
        for (const site of twins.sitesOf(namespace))
          if (podNamespaces(object, contextOf(site, namespace)).includes(changed))
            this.enqueue(site, namespace, object.metadata.name ?? "");
  }

  /** Looks again at objects that name a namespace, whose twin at a site has come or gone. */
  enqueueNaming(named: string, site: SiteId): void {
    const { namespaceNamed } = this.kind;
    if (namespaceNamed === undefined) return;
    for (const namespace of this.#options.twins.namespacesAt(site))
      for (const object of this.#objects.list(namespace))
        if (namespaceNamed(object) === named) this.enqueue(site, namespace, object.metadata.name ?? "");
  }

  enqueueSite(site: SiteId): void {
    for (const namespace of this.#options.twins.namespacesAt(site)) this.enqueueNamespace(namespace, site);
  }

  enqueue(site: SiteId, namespace: string, name: string): void {
    this.#controller.enqueue({ namespace, name: `${site}/${name}` });
  }

  /** Told when an own object of the kind has changed. */
  onSourceChange(listener: (namespace: string, name: string) => void): void {
    this.#sourceListeners.add(listener);
  }

  /** Whether rules let the own object of this name have a twin there. */
  allows(site: SiteId, namespace: string, name: string): boolean {
    const object = this.#objects.get(namespace, name);
    return object !== undefined && this.#isAllowed(object, site, namespace);
  }

  /** Whether every own object of a namespace that is to have a twin at a site has one; false while that is not known. */
  isComplete(site: SiteId, namespace: string): boolean {
    if (!this.#isFollowed(namespace)) return false;
    return this.#objects.list(namespace).every(({ metadata }) => this.isThere(site, namespace, metadata.name ?? ""));
  }

  /** Whether the twin of an own object is at a site, or none is to be there; false while that is not known. */
  isThere(site: SiteId, namespace: string, name: string): boolean {
    const object = this.#objects.get(namespace, name);
    if (object === undefined) return this.#isFollowed(namespace);
    const remote = this.#remotes.get(site);
    const twinNamespace = this.#options.twins.twinOf(site, namespace);
    if (remote !== undefined && twinNamespace !== undefined && remote.get(twinNamespace, name) !== undefined)
      return true;
    const isGoing = object.metadata.deletionTimestamp !== undefined;
    if (isGoing || !this.#isAllowed(object, site, namespace)) return true;
    return this.kind.forge(object, this.#options.contextOf(site, namespace)) === undefined;
  }

  /**
   * Whether what is in the place of a twin may be that of an earlier object of the name, and has yet to go. While the objects of either
   * side are not known it may be, unless the kind has no twins at all.
   */
  mayBeOfEarlier(site: SiteId, namespace: string, name: string): boolean {
    const remote = this.#remotes.get(site);
    const twin = this.#options.twins.twinOf(site, namespace);
    if (twin === undefined || remote?.hasSynced !== true || !this.#isFollowed(namespace))
      return !this.#isNever(namespace);
    const found = remote.get(twin, name);
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return false;
    const own = this.#objects.get(namespace, name);
    // Without an own object it is that of one which is gone.
    return own === undefined || isOfEarlier(found, own.metadata.uid);
  }

  /** The own object of this name, where it has a twin at a site. */
  twinned(site: SiteId, namespace: string, name: string): KubeObject | undefined {
    const { kind } = this.kind;
    const object = this.#objects.get(namespace, name);
    const twin = this.#options.twins.twinOf(site, namespace);
    if (object === undefined || twin === undefined || !this.#remotes.get(site)?.get(twin, name)) return undefined;
    return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
  }

  /** Own objects whose companion has this name. */
  namesBeside(namespace: string, companion: string): string[] {
    return this.#objects
      .list(namespace)
      .filter((object) => this.kind.companion?.nameOf(object) === companion)
      .map(({ metadata }) => metadata.name ?? "");
  }

  hasSources(namespace: string): boolean {
    return this.#objects.list(namespace).length > 0;
  }

  async #reconcile({ namespace = "", name: place }: Request, context: ReconcileContext): Promise<Result> {
    const { twins, counters } = this.#options;
    const slash = place.indexOf("/");
    const [site, name] = [place.slice(0, slash), place.slice(slash + 1)];
    const twinNamespace = twins.twinOf(site, namespace);
    const remote = this.#remotes.get(site);
    if (twinNamespace === undefined || remote === undefined) return done();
    const source = this.#objects.get(namespace, name);
    // Its return, and the end of its list, bring all of its objects here.
    if (!remote.site.reachability.reachable) return done();
    if (!remote.hasSynced) {
      if (source !== undefined && remote.refusal !== undefined) this.#tellRefusal(remote.refusal, source, site);
      return done();
    }
    if (!this.#objects.isKnown(namespace)) return done();
    const twin = remote.get(twinNamespace, name);
    // Those of which too little is known yet are looked at when that has changed.
    if (source !== undefined && !this.#knowsPodsOf(source, site)) return done();
    const wanted = source && this.#wanted(source, site, twinNamespace, twin);
    try {
      const alignment = await remote.align(twin, wanted, context.signal);
      if (source !== undefined) await this.#bringStatus(alignment, source, site, context);
      return this.#tell(alignment, source, site, context);
    } catch (error) {
      if (context.signal.aborted) throw error;
      // A namespace that is going takes its twins along.
      if (twins.twinOf(site, namespace) !== twinNamespace) return done();
      counters.error(this.resource, error instanceof ApiError ? "refused" : "failed");
      if (source !== undefined && error instanceof ApiError && error.statusCode < 500 && context.failures > 1)
        this.#tellFailure(source, site, readable(error));
      throw error;
    }
  }

  #knowsPodsOf(source: T, site: SiteId): boolean {
    const { contextOf, knowsPods } = this.#options;
    const namespaces = this.kind.podNamespaces?.(source, contextOf(site, source.metadata.namespace ?? "")) ?? [];
    // All of them are asked for at once.
    return namespaces.map(knowsPods).every(Boolean);
  }

  #wanted(source: T, site: SiteId, twinNamespace: string, twin: T | undefined): WantedTwin | undefined {
    const { namespace = "", name = "", deletionTimestamp } = source.metadata;
    const isKept = this.kind.lasting === true && twin !== undefined && deletionTimestamp === undefined;
    if (!isKept && !this.#isAllowed(source, site, namespace)) return undefined;
    const context = this.#options.contextOf(site, namespace);
    const body = this.kind.forge(source, context);
    const lacking = this.kind.lacking?.(source, context);
    if (lacking !== undefined) this.#warn(source, "ReflectionIncomplete", lacking);
    if (body === undefined) return undefined;
    return { namespace: twinNamespace, name, metadata: twinMetadata(this.kind, source, context), body };
  }

  /** What a twin's status, or that there is none, says to the own object's. */
  async #bringStatus(found: Alignment<T>, source: T, site: SiteId, { signal }: ReconcileContext): Promise<void> {
    const { home, contextOf } = this.#options;
    const { namespace = "", name = "", uid } = source.metadata;
    const context = contextOf(site, namespace);
    const without = found.done === "None" ? this.kind.statusWithout?.(source, context) : undefined;
    const wanted = "twin" in found ? this.kind.statusFrom?.(found.twin, source, context) : without;
    if (wanted === undefined) return;
    const patch = difference((source as { status?: Body }).status ?? {}, wanted);
    if (patch === undefined) return;
    const options = { subresource: "status", fieldManager: "fjord-reflect", signal };
    const body = { metadata: { uid }, status: patch };
    await home.client.patch(this.kind.kind, { name, namespace }, "merge", body, options).catch((error: unknown) => {
      // It has gone meanwhile, or is another one.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }

  #isAllowed(object: T, site: SiteId, namespace: string): boolean {
    const { policies, references } = this.#options;
    const { companion } = this.kind;
    if (this.kind.neverLeaves?.(object) === true) return false;
    const { name = "" } = object.metadata;
    const isReferenced = () => references.has(site, namespace, this.resource, name);
    if (!mayHaveTwin(policies.of(this.kind, namespace), object, isReferenced)) return false;
    const beside = companion?.nameOf(object);
    return (
      companion === undefined ||
      beside === undefined ||
      this.#options.mayHaveTwin(resourceOf(companion.kind), site, namespace, beside)
    );
  }

  #tell(alignment: Alignment<T>, source: T | undefined, site: SiteId, { log }: ReconcileContext): Result {
    const { counters } = this.#options;
    switch (alignment.done) {
      case "Created":
        counters.item(this.resource, "created");
        break;
      case "Patched":
        counters.item(this.resource, "patched");
        break;
      case "Deleted":
        counters.item(this.resource, "deleted");
        break;
      case "Collision": {
        counters.error(this.resource, "collision");
        log.warn("an object of the twin's name is there and is not ours", { site });
        const there = this.#nameOf(site, source?.metadata.namespace ?? "");
        const message = `${there} has an object of this name that is not its twin: it has none there until that is gone`;
        if (source !== undefined) this.#warn(source, "ReflectionCollision", message);
        return againAfter(COLLISION_MS);
      }
    }
    return done();
  }

  /** Nothing is written where it is not known what is there. */
  #tellRefusal(refusal: ApiError, source: T, site: SiteId): void {
    const { namespace = "", deletionTimestamp } = source.metadata;
    if (deletionTimestamp !== undefined || !this.#isAllowed(source, site, namespace)) return;
    this.#options.counters.error(this.resource, "refused");
    this.#tellFailure(source, site, `${readable(refusal)}${refusalAdvice(this.kind.kind)}`);
  }

  #tellFailure(source: T, site: SiteId, why: string): void {
    const there = this.#nameOf(site, source.metadata.namespace ?? "");
    this.#warn(source, "ReflectionFailed", `its twin at ${there} is not as it should be: ${why}`);
  }

  #nameOf(site: SiteId, namespace: string): string {
    return this.#options.contextOf(site, namespace).siteName();
  }

  #warn(object: T, reason: string, message: string): void {
    this.#options.home.recorder.event(object, { type: "Warning", reason, message });
  }

  /** Whether all own objects of the namespace that may have twins are known. */
  #isFollowed(namespace: string): boolean {
    return this.#isIgnored(namespace) || (this.#objects.has(namespace) && this.#objects.isKnown(namespace));
  }

  /** Whether nobody looks at objects of a namespace. Twins that last go with their originals, and not by a rule that came later. */
  #isIgnored(namespace: string): boolean {
    return this.kind.lasting !== true && this.#isNever(namespace);
  }

  #isNever(namespace: string): boolean {
    return this.#options.policies.of(this.kind, namespace) === "Never";
  }

  #leave(namespace: string): void {
    this.#objects.leave(namespace);
    this.enqueueNamespace(namespace);
  }

  #sourceChanged(namespace: string, name: string): void {
    for (const site of this.#options.twins.sitesOf(namespace)) this.enqueue(site, namespace, name);
    for (const listener of this.#sourceListeners) listener(namespace, name);
  }

  /** One that is being deleted is as good as gone. */
  async #hasOriginal(site: SiteId, twin: T, signal: AbortSignal): Promise<boolean> {
    const { home, twins } = this.#options;
    const { namespace: twinNamespace = "", name = "" } = twin.metadata;
    const namespace = twins.originOf(site, twinNamespace);
    // A namespace that is going takes its twins along.
    if (namespace === undefined) return true;
    const own = await home.client.get(this.kind.kind, { namespace, name }, { signal }).catch(ifNotFound);
    return own !== undefined && own.metadata.deletionTimestamp === undefined && !isOfEarlier(twin, own.metadata.uid);
  }

  #begin(id: SiteId): void {
    const { sites, home, twins } = this.#options;
    const site = sites.get(id);
    if (site === undefined) return;
    const remote = new RemoteTwins<T>({
      means: home,
      consumer: home.identity.id,
      site,
      kind: this.kind,
      hasOriginal: (twin, signal) => this.#hasOriginal(id, twin, signal),
      onChange: (twinNamespace, name) => {
        const namespace = twins.originOf(id, twinNamespace);
        if (namespace !== undefined) this.enqueue(id, namespace, name);
      },
      onSync: () => this.enqueueSite(id),
      onRefusal: () => this.enqueueSite(id),
    });
    this.#remotes.set(id, remote);
    remote.start();
  }
}
