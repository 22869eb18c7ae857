import { MANAGED_LABEL } from "@fjord/api";
import { Backoff, describeError, type KubeObject, sleep, TokenBucket } from "@fjord/base";
import { CoreEvent, isAlreadyExists, isGone, isNotFound, RecentMap } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { RemoteSite } from "../../remote-site.ts";
import type { ReflectionCounters } from "../engine/reflection-counters.ts";
import { REFLECT } from "../engine/twin-metadata.ts";
import { homeEvent, hostOf, lastSeen, progressOf } from "./home-event.ts";

export interface EventStreamOptions {
  readonly home: Home;
  readonly site: RemoteSite;
  readonly namespace: string;
  readonly twinNamespace: string;
  readonly counters: ReflectionCounters;
  /** The own object of this kind and name, where its guest or twin is at the site and its events are wanted. */
  readonly ownOf: (kind: string, name: string) => KubeObject | undefined;
}

const MOST_HOSTS = 64;
/** Events of a namespace that a provider may have written here at once, and each second. */
const BURST = 1_000;
const PER_SECOND = 100;
/** Events of one object that may be made here at once, and each second: they are kept for an hour, and a pod that is well has ten. */
const OF_OBJECT = { burst: 50, perSecond: 1 / 60 } as const;
const MOST_OBJECTS = 4096;
/** What was told before an object was made here was told of an earlier one; clocks of sites may differ by so much. */
const SKEW_MS = 5_000;
const IDLE_MS = 120_000;

/** Brings the events of the guests and twins in one twin namespace to the own pods and objects. Keeps none of them. */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #hosts = new Set<string>();
  readonly #bucket: TokenBucket;
  /** By uid. */
  readonly #rooms = new RecentMap<TokenBucket>(MOST_OBJECTS);
  /** Events that were here when the stream began, by name. Used up by the first list. */
  #known: Map<string, number> | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket({ perSecond: PER_SECOND, burst: BURST, clock: options.home.clock });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options.home;
    const backoff = new Backoff({ initial: 200, max: 10_000, random });
    let position: string | undefined;
    while (!signal.aborted) {
      try {
        position ??= await this.#list(signal);
        for await (const version of this.#watch(position, signal)) {
          position = version;
          backoff.reset();
        }
      } catch (error) {
        if (signal.aborted) return;
        if (isGone(error)) position = undefined;
        logger.debug("events of guests cannot be followed now", { error: describeError(error) });
      }
      await sleep(clock, backoff.next(), signal);
    }
  }

  async #list(signal: AbortSignal): Promise<string | undefined> {
    const { home, site, namespace } = this.#options;
    const labelSelector = `${MANAGED_LABEL}=${REFLECT}`;
    const here = await home.client.list(CoreEvent, { namespace, labelSelector, omitManagedFields: true, signal });
    this.#known = new Map(here.items.map(({ metadata, count = 1 }) => [metadata.name ?? "", count]));
    let version: string | undefined;
    for await (const { items, metadata } of site.kube.listAll(CoreEvent, { ...this.#scope, signal })) {
      version = metadata.resourceVersion;
      for (const event of items) if (!this.#isOfEarlier(event)) await this.#bring(event, signal);
    }
    this.#known = undefined;
    return version;
  }

  async *#watch(resourceVersion: string | undefined, signal: AbortSignal): AsyncGenerator<string> {
    const { site } = this.#options;
    const from = resourceVersion === undefined ? {} : { resourceVersion };
    const options = { ...this.#scope, ...from, idleTimeoutMs: IDLE_MS, signal };
    for await (const { type, object } of site.kube.watch(CoreEvent, options)) {
      if (type === "ADDED" || type === "MODIFIED") await this.#bring(object, signal);
      yield object.metadata.resourceVersion ?? "";
    }
  }

  get #scope() {
    const { twinNamespace } = this.#options;
    return { namespace: twinNamespace, fieldSelector: "reason!=Scheduled" };
  }

  async #bring(event: CoreEvent, signal: AbortSignal): Promise<void> {
    const { home, site, twinNamespace, counters } = this.#options;
    const host = hostOf(event);
    if (host !== undefined && this.#hosts.size < MOST_HOSTS) this.#hosts.add(host);
    const own = this.#ownOf(event);
    if (own === undefined) return;
    const origin = {
      site: site.id,
      twinNamespace,
      hosts: this.#hosts,
      now: home.client.serverClock.now(),
      clockAhead: this.#clockAhead,
    };
    const told = homeEvent(event, own, origin);
    if (told === undefined || this.#known?.get(told.metadata.name ?? "") === told.count) return;
    const room = this.#roomOf(own);
    const wait = this.#bucket.reserve();
    // A provider that talks without end is heard slowly: the connection fills up, not this process.
    if (wait > 0) await sleep(home.clock, wait, signal);
    try {
      const done = await this.#write(told, room, signal);
      if (done === "dropped") counters.error("events", "dropped");
      else counters.item("events", done);
    } catch (error) {
      if (signal.aborted) return;
      counters.error("events", "failed");
      home.logger.debug("an event of a guest was not written", { error: describeError(error) });
    }
  }

  #ownOf({ involvedObject }: CoreEvent): KubeObject | undefined {
    const { apiVersion, kind, name } = involvedObject ?? {};
    if (typeof kind !== "string" || typeof name !== "string") return undefined;
    const own = this.#options.ownOf(kind, name);
    // Kinds of several groups may have the same name.
    const isOther = typeof apiVersion === "string" && groupOf(apiVersion) !== groupOf(own?.apiVersion ?? "");
    return isOther ? undefined : own;
  }

  #roomOf({ metadata: { uid = "" } }: KubeObject): TokenBucket {
    return this.#rooms.getOrMake(uid, () => new TokenBucket({ ...OF_OBJECT, clock: this.#options.home.clock }));
  }

  /**
   * One request in the ordinary case: the first of a series is made, a repeat is counted up. An object of which too much is told
   * has no more made, or a provider could fill the own API with them.
   */
  async #write(event: CoreEvent, room: TokenBucket, signal: AbortSignal): Promise<"created" | "patched" | "dropped"> {
    if ((event.count ?? 1) > 1 && (await this.#countUp(event, signal))) return "patched";
    if (!room.tryTake()) return "dropped";
    try {
      await this.#options.home.client.create(CoreEvent, event, { signal });
      return "created";
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      await this.#countUp(event, signal);
      return "patched";
    }
  }

  async #countUp(event: CoreEvent, signal: AbortSignal): Promise<boolean> {
    const { namespace = "", name = "" } = event.metadata;
    try {
      await this.#options.home.client.patch(CoreEvent, { namespace, name }, "merge", progressOf(event), { signal });
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return false;
    }
  }

  /** Times of objects are said by the clocks of the two APIs. */
  get #clockAhead(): number {
    const { site, home } = this.#options;
    return site.kube.serverClock.aheadOf(home.client.serverClock);
  }

  #isOfEarlier(event: CoreEvent): boolean {
    const made = Date.parse(this.#ownOf(event)?.metadata.creationTimestamp ?? "");
    return Date.parse(String(lastSeen(event))) - this.#clockAhead < made - SKEW_MS;
  }
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}
