import { AddressPlan } from "@fjord/api";
import { TokenBucket } from "@fjord/base";
import {
  againAfter,
  type Cache,
  type Controller,
  done,
  generationChanged,
  type Pod,
  type Request,
  type Result,
  type Runnable,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { Card, IntroductionAnswer, IntroductionWord } from "../../protocol.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";
import type { VirtualNodes } from "../../virtual-nodes.ts";
import { NamespacePods } from "../namespace-pods.ts";
import type { CardsBetween } from "./cards-between.ts";
import { introducedNamespaces, introductionToken } from "./introduction.ts";

export interface IntroductionControllerOptions {
  readonly home: Home;
  readonly sites: RemoteSites;
  readonly twins: Twins;
  readonly nodes: VirtualNodes;
  readonly cards: CardsBetween;
}

const REFUSED_MS = 15_000;
const LOST_MS = 1_000;
const AT_ONCE = 8;
/**
 * How often a provider is told of another one, whatever it says that it has heard, and whatever it answers: the other is told that, and takes so much of this site and no more of all
 * that this one tells it.
 */
const PACE = { burst: 20, perSecond: 4 } as const;

/**
 * At a consumer: tells each of its providers of each other one that has guests of the same namespaces, and brings their cards to and fro. A request
 * has the provider that is told as its namespace, and the one that it is told of as its name.
 */
export class IntroductionController implements Runnable {
  readonly name = "introductions";
  readonly needsLeaderElection = true;
  readonly #options: IntroductionControllerOptions;
  readonly #controller: Controller;
  readonly #plans: Cache<AddressPlan>;
  readonly #pods: NamespacePods;
  /** What was last found to be said, until something of it changes. */
  readonly #words = new Map<string, IntroductionWord>();
  readonly #paces = new Map<string, TokenBucket>();
  #changes = 0;

  constructor(options: IntroductionControllerOptions) {
    this.#options = options;
    const { home, twins } = options;
    this.#plans = home.caches.open(AddressPlan).cache;
    this.#pods = new NamespacePods(home, (namespace) => {
      const sites = twins.sitesOf(namespace);
      for (const to of sites) for (const of of sites) this.#look(to, of);
    });
    this.#controller = homeController(home, {
      name: this.name,
      sources: [
        watches(this.#plans, {
          when: generationChanged,
          map: ({ spec }) =>
            (spec.others ?? []).flatMap(({ site }) => [this.#changed(spec.site, site), this.#changed(site, spec.site)]),
        }),
      ],
      concurrency: AT_ONCE,
      waitsOn: ({ namespace: to }) => to,
      backoff: { initial: 100, max: 5_000 },
      reconcile: (request, { signal }) => this.#reconcile(request, signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const { sites, twins, nodes, cards } = this.#options;
    const release = [
      // A report says what was heard; what there is to say is the same.
      sites.onChange((id) => {
        for (const other of this.#othersOf(id)) this.#controller.enqueue({ namespace: id, name: other });
      }),
      cards.onChange((from, to) => this.#look(to, from)),
      twins.onChange((site) => this.#lookAround(site)),
      nodes.onChange((name) => this.#lookAround(nodes.get(name)?.site)),
    ];
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      for (const each of release) each();
      this.#pods.keepOnly(new Set());
    }
  }

  async #reconcile({ namespace: to = "", name: of }: Request, signal: AbortSignal): Promise<Result> {
    const { sites, cards } = this.#options;
    if (!this.#othersOf(to).includes(of)) {
      this.#words.delete(`${to}/${of}`);
      this.#paces.delete(`${to}/${of}`);
      cards.forget(to, of);
      this.#followPods();
      return done();
    }
    const remote = sites.get(to);
    if (remote?.report === undefined || !remote.reachability.reachable) return done();
    const word = await this.#word(to, of, signal);
    if (remote.report.introductions?.[of] === introductionToken(word, cards.get(to, of))) return done();
    if (!this.#paceOf(to, of).tryTake()) return againAfter(1_000 / PACE.perSecond);
    let answer: IntroductionAnswer;
    try {
      answer = await remote.call<IntroductionAnswer>("PUT", `/introductions/${of}`, word, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      // One that has changed its mind, or is of before there were introductions, says so in its next report.
      return againAfter(error instanceof PeerRefused ? REFUSED_MS : LOST_MS);
    }
    cards.take(to, of, answer?.card);
    remote.refresh();
    return done();
  }

  async #word(to: SiteId, of: SiteId, signal: AbortSignal): Promise<IntroductionWord> {
    const { twins, nodes, cards, home } = this.#options;
    const key = `${to}/${of}`;
    const known = this.#words.get(key);
    if (known !== undefined) return known;
    const changes = this.#changes;
    const plan = this.#plans.get({ name: of })?.spec;
    const common = twins.namespacesAt(to).filter((name) => twins.sitesOf(name).includes(of));
    const namespaces = await Promise.all(
      common.map(async (name) => ({
        twin: twins.twinOf(to, name) ?? "",
        pods: await this.#pods.in(name, signal),
        isThere: ({ spec }: Pod) => nodes.get(spec?.nodeName ?? "")?.site === of,
      })),
    );
    const { namespaces: told, left } =
      plan === undefined ? { namespaces: [], left: 0 } : introducedNamespaces(plan, namespaces);
    if (left > 0)
      home.logger.warn("a provider is not told of all pods at another one, which do not meet", { to, of, left });
    const card: Card | undefined = cards.get(of, to);
    const word = { ...(card && { card }), namespaces: told };
    if (changes === this.#changes) this.#words.set(key, word);
    return word;
  }

  #paceOf(to: SiteId, of: SiteId): TokenBucket {
    const key = `${to}/${of}`;
    const pace = this.#paces.get(key) ?? new TokenBucket({ ...PACE, clock: this.#options.home.clock });
    this.#paces.set(key, pace);
    return pace;
  }

  #othersOf(site: SiteId): SiteId[] {
    return (this.#plans.get({ name: site })?.spec.others ?? []).map((other) => other.site);
  }

  #changed(to: SiteId, of: SiteId): Request {
    this.#changes += 1;
    this.#words.delete(`${to}/${of}`);
    return { namespace: to, name: of };
  }

  #look(to: SiteId, of: SiteId): void {
    if (to !== of) this.#controller.enqueue(this.#changed(to, of));
  }

  /** What a site is told of others, and others of it. */
  #lookAround(site: SiteId | undefined): void {
    for (const other of site === undefined ? [] : this.#othersOf(site)) {
      this.#look(site as SiteId, other);
      this.#look(other, site as SiteId);
    }
  }

  #followPods(): void {
    const { twins } = this.#options;
    const sites = this.#plans.list().filter(({ spec }) => (spec.others ?? []).length > 0);
    this.#pods.keepOnly(new Set(sites.flatMap(({ spec }) => twins.namespacesAt(spec.site))));
  }
}
