import { isKeptNamespace, OFFLOADED_LABEL, OFFLOADING_NAME, Offloading, Site, VIRTUAL_NODE } from "@fjord/api";
import {
  addFinalizer,
  againAfter,
  type Cache,
  type Controller,
  done,
  getCondition,
  hasFinalizer,
  isBeingDeleted,
  isForbidden,
  Namespace,
  Node,
  type ReconcileContext,
  type Request,
  type Result,
  type Runnable,
  removeFinalizer,
  sameContent,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import type { OffloadedPod, OffloadedPods } from "../../offloaded-pods.ts";
import { isOtherRules, rulesOfOwn } from "../../reflection-rules.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { VirtualNodes } from "../../virtual-nodes.ts";
import { isDaemonPod, isMade } from "../admission/pod-placement.ts";
import { hasGivenLabels } from "../node/index.ts";
import { bringHome } from "./bring-home.ts";
import { NamespaceLabels } from "./namespace-labels.ts";
import { keptStatus, type OffloadingStatus, offloadingStatus } from "./offloading-status.ts";
import { ProvidersInForce } from "./providers-in-force.ts";
import { RemoteTwinRequests } from "./remote-twin-requests.ts";
import { recallPods, repairPods, tellRecalled } from "./repair-pods.ts";
import { TwinOverview } from "./twin-overview.ts";
import { type TwinFacts, twinStep } from "./twin-step.ts";

export interface OffloadingControllerOptions {
  readonly home: Home;
  readonly remotes: RemoteSites;
  readonly pods: OffloadedPods;
  readonly nodes: VirtualNodes;
}

const FINALIZER = "fjord.dev/offloading";
const FIELD_MANAGER = "fjord-offload";
/** Pods that were made before the API server had heard of their namespace's label, or that it goes, show themselves within this time. */
const SECOND_LOOK_MS = 2_000;
/** Changes bring an Offloading back by themselves: this is for one that was missed. */
const LOOK_AGAIN_MS = 10_000;

/** Gives each offloaded namespace its twins, and takes them away again. */
export class OffloadingController implements Runnable {
  readonly name = "offloadings";
  readonly needsLeaderElection = true;
  readonly #options: OffloadingControllerOptions;
  readonly #offloadings: Cache<Offloading>;
  readonly #nodes: Cache<Node>;
  readonly #sites: Cache<Site>;
  readonly #namespaces: Cache<Namespace>;
  readonly #labels: NamespaceLabels;
  readonly #providers: ProvidersInForce;
  readonly #requests: RemoteTwinRequests;
  readonly #overview: TwinOverview;
  readonly #controller: Controller;
  /** By uid of an Offloading: when its first pods are looked at once more. */
  readonly #young = new Map<string, number>();
  /** By namespace whose Offloading is being removed: since when no more of its pods may leave. */
  readonly #ending = new Map<string, number>();

  constructor(options: OffloadingControllerOptions) {
    this.#options = options;
    const { caches } = options.home;
    this.#offloadings = caches.open(Offloading).cache;
    this.#nodes = caches.open(Node, { labelSelector: `${VIRTUAL_NODE}=true` }).cache;
    this.#sites = caches.open(Site).cache;
    this.#namespaces = caches.open(Namespace, { labelSelector: `${OFFLOADED_LABEL}=true` }).cache;
    this.#labels = new NamespaceLabels(options.home, this.#namespaces);
    this.#providers = new ProvidersInForce(options.home);
    this.#requests = new RemoteTwinRequests(options.home, options.remotes, (namespace) => {
      if (namespace === undefined) this.#all();
      else this.#enqueue(namespace);
    });
    const [nodes, providers, requests] = [this.#nodes, this.#providers, this.#requests];
    this.#overview = new TwinOverview({ ...options, nodes, known: options.nodes, providers, requests });
    this.#controller = homeController(options.home, {
      name: "offloadings",
      sources: [
        watches(this.#offloadings),
        watches(this.#namespaces, {
          map: ({ metadata }) => [{ name: OFFLOADING_NAME, namespace: metadata.name ?? "" }],
          when: ({ type }) => type !== "update",
        }),
        watches(this.#nodes, {
          map: () => this.#everyOffloading(),
          when: (change) => change.type !== "update" || isOther(change.old, change.object),
        }),
        watches(this.#sites, {
          map: () => this.#everyOffloading(),
          when: (change) => change.type === "update" && isOtherRules(change.old, change.object),
        }),
      ],
      concurrency: 8,
      waitsOn: ({ namespace }) => namespace,
      timeoutMs: 60_000,
      backoff: { initial: 100, max: 30_000 },
      reconcile: (request, context) => this.#reconcile(request, context),
    });
  }

  async run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    const { remotes, pods, nodes } = this.#options;
    const siteOfNode = new Map(nodes.list().map(({ name, site }) => [name, site]));
    const reachable = new Map<SiteId, boolean>();
    const release = [
      this.#providers.onChange(() => this.#all()),
      remotes.onChange((site) => {
        const now = remotes.get(site)?.reachability.reachable;
        if (reachable.get(site) === now) return;
        if (now === undefined) reachable.delete(site);
        else reachable.set(site, now);
        this.#all();
      }),
      // Of one that is not to come back nobody waits for the Node.
      nodes.onChange((name) => {
        const site = nodes.get(name)?.site;
        if (siteOfNode.get(name) === site) return;
        if (site === undefined) siteOfNode.delete(name);
        else siteOfNode.set(name, site);
        this.#all();
      }),
      // A namespace leaves a site once its last pod there is gone.
      pods.onChange((namespace, name) => {
        if (pods.get(namespace, name) !== undefined) return;
        const offloading = this.#get(namespace);
        if (offloading !== undefined && this.#overview.isLeaving(offloading)) this.#enqueue(namespace);
      }),
    ];
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      for (const each of release) each();
      this.#requests.stop();
    }
  }

  async #reconcile({ namespace = "" }: Request, context: ReconcileContext): Promise<Result> {
    this.#requests.follow(this.#providers.list());
    const offloading = this.#get(namespace);
    if (offloading === undefined) return this.#withoutOffloading(namespace, context.signal);
    if (isBeingDeleted(offloading)) return this.#remove(offloading, context);
    return this.#keep(offloading, context);
  }

  async #keep(offloading: Offloading, context: ReconcileContext): Promise<Result> {
    const { home } = this.#options;
    const { signal } = context;
    const { namespace = "", uid = "" } = offloading.metadata;
    if (isKeptNamespace(namespace, home.namespace)) return this.#refuse(offloading, signal);
    this.#ending.delete(namespace);
    await this.#labels.ensure(namespace, signal);
    const now = home.clock.now();
    const isNew = !hasFinalizer(offloading, FINALIZER);
    const isDue = (this.#young.get(uid) ?? Number.POSITIVE_INFINITY) <= now;
    const isVirtual = (name: string) => this.#nodes.get({ name }) !== undefined;
    if (isNew || isDue) await repairPods(home, offloading, isVirtual, signal);
    if (isNew) this.#young.set(uid, now + SECOND_LOOK_MS);
    if (isDue) this.#young.delete(uid);
    await addFinalizer(home.client, Offloading, offloading, FINALIZER, { signal });
    await this.#align(offloading, context);
    const due = this.#young.get(uid);
    return due === undefined ? done() : againAfter(Math.max(due - home.clock.now(), 1));
  }

  /** The system's pods must not wait for an agent, and what is secret there is no other site's business. */
  async #refuse(offloading: Offloading, signal: AbortSignal): Promise<Result> {
    await this.#labels.remove(offloading.metadata.namespace ?? "", signal);
    await this.#write(offloading, keptStatus(offloading, this.#options.home.clock.now()), signal);
    return done();
  }

  async #remove(offloading: Offloading, context: ReconcileContext): Promise<Result> {
    const { home } = this.#options;
    const { signal } = context;
    const { namespace = "", uid = "" } = offloading.metadata;
    this.#young.delete(uid);
    await this.#labels.remove(namespace, signal);
    if (!hasFinalizer(offloading, FINALIZER)) return done();
    const staying = await recallPods(home, namespace, signal);
    const since = this.#ending.get(namespace) ?? home.clock.now();
    if (!this.#ending.has(namespace)) tellRecalled(home, staying);
    this.#ending.set(namespace, since);
    await bringHome(home.client, this.#podsToEnd(offloading), signal);
    if ((await this.#align(offloading, context)) > 0) return againAfter(LOOK_AGAIN_MS);
    // While the Offloading is there, so that an agent that dies meanwhile looks again.
    const early = since + SECOND_LOOK_MS - home.clock.now();
    if (early > 0) return againAfter(early);
    tellRecalled(home, staying);
    await removeFinalizer(home.client, Offloading, offloading, FINALIZER, { signal });
    return done();
  }

  /** Once no twin is left these are pods that were still on their way to the API server: nodes refuse those that nobody makes. */
  #podsToEnd({ metadata, status }: Offloading): readonly OffloadedPod[] {
    const pods = this.#options.pods.inNamespace(metadata.namespace ?? "");
    const isRemoving = getCondition(status?.conditions, "Ready")?.reason === "Removing";
    const isNowhere = isRemoving && (status?.sites ?? []).length === 0;
    return isNowhere ? pods.filter(({ pod }) => isMade(pod) && !isDaemonPod(pod)) : pods;
  }

  /**
   * Brings the twins of a namespace closer to what is wanted, and tells in the status. Gives at how many sites it is, or is
   * to be. A site is in the status before it has a twin: so whoever removes the Offloading knows where to look.
   */
  async #align(offloading: Offloading, { signal, log }: ReconcileContext): Promise<number> {
    const { namespace = "" } = offloading.metadata;
    const facts = this.#overview.factsOf(offloading);
    const steps = facts.map((each) => ({ ...each, step: twinStep(each) }));
    const left = steps.filter(({ step }) => step !== "forget");
    await this.#say(offloading, left, signal);
    const failures: unknown[] = [];
    const bring = async ({ site, step, name }: (typeof left)[number]) => {
      try {
        if (step === "create") await this.#requests.create(site, namespace, name, signal);
        if (step === "delete") await this.#requests.delete(site, namespace, signal);
        if (step !== "wait")
          log.info(`a twin is ${step === "create" ? "asked for" : "given back"}`, { site, twin: name });
      } catch (error) {
        // The provider knows of an end that is not known here yet.
        if (isForbidden(error)) this.#options.remotes.get(site)?.refresh();
        failures.push(error);
      }
    };
    await Promise.all(left.map(bring));
    if (failures.length === 0) return left.length;
    const sites = new Set(left.map(({ site }) => site));
    const now = this.#overview.factsOf(offloading).filter(({ site }) => sites.has(site));
    await this.#say(offloading, now, signal);
    // One site's trouble is not the others'.
    throw failures[0];
  }

  /** Nothing is to be left of a namespace without an Offloading, whoever took it away. */
  async #withoutOffloading(namespace: string, signal: AbortSignal): Promise<Result> {
    this.#ending.delete(namespace);
    const leftovers = this.#requests.sitesOf(namespace).filter((site) => this.#overview.isReachable(site));
    if (leftovers.length === 0) return this.#labels.removeStale(namespace, signal);
    if (await this.#exists(namespace, signal)) return done();
    await Promise.all(leftovers.map((site) => this.#requests.delete(site, namespace, signal)));
    return this.#labels.removeStale(namespace, signal);
  }

  #say(offloading: Offloading, facts: readonly TwinFacts[], signal: AbortSignal): Promise<void> {
    const now = this.#options.home.clock.now();
    const status = offloadingStatus(offloading, facts, now, this.#nodes.list(), rulesOfOwn(this.#sites.list()));
    return this.#write(offloading, status, signal);
  }

  async #write(offloading: Offloading, status: OffloadingStatus, signal: AbortSignal): Promise<void> {
    const { home } = this.#options;
    const { namespace = "", uid = "" } = offloading.metadata;
    if (sameContent(status, offloading.status)) return;
    await home.client.apply(
      Offloading,
      { metadata: { name: OFFLOADING_NAME, namespace, uid }, status },
      { fieldManager: FIELD_MANAGER, subresource: "status", force: true, signal },
    );
  }

  #get(namespace: string): Offloading | undefined {
    return this.#offloadings.get({ name: OFFLOADING_NAME, namespace });
  }

  async #exists(namespace: string, signal: AbortSignal): Promise<boolean> {
    const { items } = await this.#options.home.client.list(Offloading, { namespace, signal });
    return items.some(({ metadata }) => metadata.name === OFFLOADING_NAME);
  }

  #enqueue(namespace: string): void {
    this.#controller.enqueue({ name: OFFLOADING_NAME, namespace });
  }

  #all(): void {
    this.#requests.follow(this.#providers.list());
    for (const request of this.#everyOffloading()) this.#controller.enqueue(request);
  }

  #everyOffloading(): Request[] {
    return this.#offloadings
      .list()
      .map(({ metadata }) => ({ name: OFFLOADING_NAME, namespace: metadata.namespace ?? "" }));
  }
}

/** Whether a Node says something else to whoever selects nodes. */
function isOther(old: Node, node: Node): boolean {
  return !sameContent(old.metadata.labels, node.metadata.labels) || hasGivenLabels(old) !== hasGivenLabels(node);
}
