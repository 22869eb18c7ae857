import { MANAGED_LABEL, SITE_LABEL } from "@fjord/api";
import { describeError, type Kind } from "@fjord/base";
import {
  Cache,
  type Controller,
  type DynamicObject,
  done,
  type ReconcileContext,
  type Request,
  type Result,
  type SharedCache,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import { resourceOf } from "../../reflection-rules.ts";
import { type RemoteSite, type RemoteSites, remoteTiming } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";
import { ListRefusal, readable, refusalAdvice } from "../engine/list-refusal.ts";
import type { Policies } from "../engine/policies.ts";
import { mayHaveTwin } from "../engine/policy.ts";
import type { ReflectionCounters } from "../engine/reflection-counters.ts";
import { carriedMetadata, REFLECT } from "../engine/twin-metadata.ts";
import { TwinWriter, type WantedTwin } from "../engine/twin-writer.ts";
import { checkedJson } from "./checked-json.ts";
import { content } from "./custom-kind.ts";

export interface InwardReflectionOptions {
  readonly home: Home;
  readonly kind: Kind<DynamicObject>;
  readonly twins: Twins;
  readonly sites: RemoteSites;
  readonly policies: Policies;
  readonly counters: ReflectionCounters;
  /** Tells the owner of a namespace why nothing comes from its twin at a site. */
  readonly tellRefusal: (site: SiteId, namespace: string, why: string) => void;
}

interface Source {
  readonly site: RemoteSite;
  readonly twinNamespace: string;
  readonly cache: Cache<DynamicObject>;
  readonly stop: AbortController;
}

/** Where the rules of the own Site do not list the kind, it has none here. */
const UNLISTED = "Never";

/** Gives objects that are in twin namespaces their twins here: what a provider's controllers tell this site by. */
export class InwardReflection {
  readonly resource: string;
  readonly #options: InwardReflectionOptions;
  readonly #controller: Controller;
  /** By `site/namespace`. */
  readonly #sources = new Map<string, Source>();
  /** All twins that are here, of whichever namespace and site: also those that nobody wants any more. */
  readonly #twins: SharedCache<DynamicObject>;
  readonly #writers = new Map<SiteId, TwinWriter<DynamicObject>>();

  constructor(options: InwardReflectionOptions) {
    this.#options = options;
    this.resource = resourceOf(options.kind);
    this.#twins = options.home.caches.open(options.kind, { labelSelector: `${MANAGED_LABEL}=${REFLECT}` });
    this.#controller = homeController(options.home, {
      name: `reflect-inward-${this.resource}`,
      sources: [watches(this.#twins.cache, (twin) => placesOf(twin))],
      reconcile: (request, context) => this.#reconcile(request, context),
      concurrency: 4,
      backoff: { initial: 200, max: 30_000 },
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    await this.#controller.run(stop, abandon);
    for (const { stop: end } of this.#sources.values()) end.abort();
    this.#twins[Symbol.dispose]();
  }

  /** Looks at exactly those namespaces that have twins. */
  follow(namespaces: ReadonlySet<string>): void {
    const { twins, sites, policies, kind } = this.#options;
    const wanted = new Map<string, { site: RemoteSite; namespace: string; twinNamespace: string }>();
    for (const namespace of namespaces) {
      if (policies.of({ kind, policy: UNLISTED }, namespace) === "Never") continue;
      for (const id of twins.sitesOf(namespace)) {
        const site = sites.get(id);
        const twinNamespace = twins.twinOf(id, namespace);
        if (site !== undefined && twinNamespace !== undefined)
          wanted.set(`${id}/${namespace}`, { site, namespace, twinNamespace });
      }
    }
    for (const [key, source] of this.#sources) {
      const still = wanted.get(key);
      if (still?.site === source.site && still.twinNamespace === source.twinNamespace) continue;
      source.stop.abort();
      this.#sources.delete(key);
    }
    for (const [key, { site, namespace, twinNamespace }] of wanted)
      if (!this.#sources.has(key)) this.#begin(key, site, namespace, twinNamespace);
    this.#enqueueTwins();
  }

  async #reconcile({ namespace = "", name: place }: Request, { signal, log }: ReconcileContext): Promise<Result> {
    const { counters } = this.#options;
    const slash = place.indexOf("/");
    const [site, name] = [place.slice(0, slash), place.slice(slash + 1)];
    const source = this.#sources.get(`${site}/${namespace}`);
    if (source !== undefined && !source.cache.hasSynced) return done();
    const here = this.#twins.cache.get({ namespace, name });
    const twin = here?.metadata.labels?.[SITE_LABEL] === site ? here : undefined;
    const original = source?.cache.get({ namespace: source.twinNamespace, name });
    const wanted = original && this.#wanted(original, site, namespace);
    try {
      const { done: what } = await this.#writer(site).align(twin, wanted, signal);
      if (what === "Created") counters.item(this.resource, "created");
      if (what === "Patched") counters.item(this.resource, "patched");
      if (what === "Deleted") counters.item(this.resource, "deleted");
      if (what !== "Collision") return done();
      counters.error(this.resource, "collision");
      log.warn("an object of the twin's name is here and is not that site's", { site });
      return { type: "again", afterMs: 3_000 };
    } catch (error) {
      counters.error(this.resource, "refused");
      throw error;
    }
  }

  #wanted(original: DynamicObject, site: SiteId, namespace: string): WantedTwin | undefined {
    const { policies, kind } = this.#options;
    const policy = policies.of({ kind, policy: UNLISTED }, namespace);
    if (original.metadata.deletionTimestamp !== undefined || !mayHaveTwin(policy, original, () => false))
      return undefined;
    const body = content(original);
    const metadata = carriedMetadata(original, { [MANAGED_LABEL]: REFLECT, [SITE_LABEL]: site });
    if (checkedJson(body) === undefined || checkedJson(metadata) === undefined) return undefined;
    return { namespace, name: original.metadata.name ?? "", metadata, body };
  }

  #writer(site: SiteId): TwinWriter<DynamicObject> {
    const known = this.#writers.get(site);
    if (known !== undefined) return known;
    const { home, kind } = this.#options;
    const isOwn = ({ metadata }: DynamicObject) =>
      metadata.labels?.[MANAGED_LABEL] === REFLECT && metadata.labels[SITE_LABEL] === site;
    const writer = new TwinWriter<DynamicObject>(home.client, { kind, seen: content }, isOwn);
    this.#writers.set(site, writer);
    return writer;
  }

  #begin(key: string, site: RemoteSite, namespace: string, twinNamespace: string): void {
    const { home, kind, tellRefusal, counters } = this.#options;
    const { clock, random, logger } = home;
    const stop = new AbortController();
    const scope = { namespace: twinNamespace };
    const timing = { ...remoteTiming, backoffMaxMs: 5_000 };
    const refusal = new ListRefusal(clock);
    const onFailure = (error: unknown) => {
      if (!refusal.failed(error)) return;
      counters.error(this.resource, "refused");
      tellRefusal(site.id, namespace, `${this.resource} there: ${readable(error)}${refusalAdvice(kind)}`);
    };
    const options = { kind, client: site.kube, scope, timing, clock, random, logger, onFailure };
    const cache = new Cache({ ...options, omitManagedFields: true });
    const tell = ({ metadata }: DynamicObject) => this.#enqueue(site.id, namespace, metadata.name ?? "");
    cache.addHandler({ onAdd: tell, onUpdate: (_, object) => tell(object), onDelete: tell });
    this.#sources.set(key, { site, twinNamespace, cache, stop });
    void cache.run(stop.signal);
    cache.waitForSync(stop.signal).then(
      () => this.#enqueueTwins(),
      (error) => logger.debug("a list of originals was given up", { error: describeError(error) }),
    );
  }

  #enqueueTwins(): void {
    for (const twin of this.#twins.cache.list())
      for (const request of placesOf(twin)) this.#controller.enqueue(request);
  }

  #enqueue(site: SiteId, namespace: string, name: string): void {
    this.#controller.enqueue({ namespace, name: `${site}/${name}` });
  }
}

function placesOf({ metadata }: DynamicObject): Request[] {
  const { name = "", namespace = "", labels } = metadata;
  const site = labels?.[SITE_LABEL];
  return site === undefined ? [] : [{ namespace, name: `${site}/${name}` }];
}
