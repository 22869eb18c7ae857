import { OFFLOADED_LABEL, OFFLOADING_NAME, Offloading, SITE_LABEL, VIRTUAL_NODE } from "@fjord/api";
import {
  addFinalizer,
  againAfter,
  type Cache,
  Controller,
  done,
  isBeingDeleted,
  isNotFound,
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
import type { SiteId } from "../../identity/site-identity.ts";
import { matchesSelector } from "../../label-selector.ts";
import type { RemoteSites } from "../../peering/remote-site.ts";
import type { OffloadedPods } from "../offloaded-pods.ts";
import { bringHome } from "./bring-home.ts";
import { offloadingStatus, type TwinView } from "./offloading-status.ts";
import { RemoteTwinRequests } from "./remote-twin-requests.ts";
import { twinName } from "./twin-name.ts";

export interface OffloadingControllerOptions {
  readonly home: Home;
  readonly remotes: RemoteSites;
  readonly pods: OffloadedPods;
}

const FINALIZER = "fjord.dev/offloading";
const FIELD_MANAGER = "fjord-offload";

/** Gives each offloaded namespace its twins, and takes them away again. */
export class OffloadingController implements Runnable {
  readonly name = "offloadings";
  readonly needsLeaderElection = true;
  readonly #options: OffloadingControllerOptions;
  readonly #offloadings: Cache<Offloading>;
  readonly #nodes: Cache<Node>;
  /** Those that carry the label. */
  readonly #namespaces: Cache<Namespace>;
  readonly #requests: RemoteTwinRequests;
  readonly #controller: Controller;

  constructor(options: OffloadingControllerOptions) {
    this.#options = options;
    const { caches, clock, random, logger, metrics } = options.home;
    this.#offloadings = caches.open(Offloading).cache;
    this.#nodes = caches.open(Node, { labelSelector: `${VIRTUAL_NODE}=true` }).cache;
    this.#namespaces = caches.open(Namespace, { labelSelector: `${OFFLOADED_LABEL}=true` }).cache;
    this.#requests = new RemoteTwinRequests(options.home, options.remotes, (namespace) => {
      if (namespace === "") this.#all();
      else this.#enqueue(namespace);
    });
    this.#controller = new Controller({
      name: "offloadings",
      sources: [
        watches(this.#offloadings),
        watches(this.#namespaces, ({ metadata }) => [{ name: OFFLOADING_NAME, namespace: metadata.name ?? "" }]),
        watches(this.#nodes, {
          map: () => this.#everyOffloading(),
          when: (change) =>
            change.type !== "update" || !sameContent(change.old.metadata.labels, change.object.metadata.labels),
        }),
      ],
      concurrency: 8,
      reconcile: (request, context) => this.#reconcile(request, context),
      clock,
      random,
      logger,
      ...(metrics && { metrics }),
    });
  }

  async run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    const { remotes, pods } = this.#options;
    const reachable = new Map<SiteId, boolean>();
    const release = [
      remotes.onChange((site) => {
        const now = remotes.get(site)?.reachability.reachable ?? false;
        if (reachable.get(site) === now) return;
        reachable.set(site, now);
        this.#all();
      }),
      // A namespace may leave a site once its last pod has left it.
      pods.onChange((namespace) => {
        if (this.#get(namespace)?.metadata.deletionTimestamp !== undefined) this.#enqueue(namespace);
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
    const { client } = this.#options.home;
    const { signal } = context;
    this.#requests.follow(this.#sitesInUse());
    const offloading = this.#get(namespace);
    if (offloading === undefined) return done();
    if (isBeingDeleted(offloading)) return this.#remove(offloading, context);
    await addFinalizer(client, Offloading, offloading, FINALIZER, { signal });
    await this.#label(namespace, "true", signal);
    const wanted = this.#eligible(offloading);
    const known = new Set((offloading.status?.sites ?? []).map(({ site }) => site));
    for (const site of wanted) {
      if (!this.#isReachable(site) || !this.#requests.isKnown(site) || this.#requests.get(site, namespace)) continue;
      const name = twinName(offloading.spec.naming, namespace, this.#options.home.identity.id);
      await this.#requests.create(site, namespace, name, signal);
    }
    const leaving = [...known].filter((site) => !wanted.has(site) && this.#keepsTwin(site, namespace));
    for (const site of leaving) {
      if (this.#hasPods(site, namespace) || !this.#isReachable(site)) continue;
      if (this.#requests.get(site, namespace) !== undefined) await this.#requests.delete(site, namespace, signal);
    }
    await this.#say(offloading, [...wanted, ...leaving], wanted, signal);
    return done();
  }

  /** A site that is no longer a peer has nothing to remove at. */
  #keepsTwin(site: SiteId, namespace: string): boolean {
    if (this.#options.remotes.get(site) === undefined) return false;
    return (
      !this.#requests.isKnown(site) ||
      this.#requests.get(site, namespace) !== undefined ||
      this.#hasPods(site, namespace)
    );
  }

  async #remove(offloading: Offloading, { signal }: ReconcileContext): Promise<Result> {
    const { client } = this.#options.home;
    const namespace = offloading.metadata.namespace ?? "";
    await this.#label(namespace, null, signal);
    const pods = this.#options.pods.inNamespace(namespace);
    if (pods.length > 0) {
      await bringHome(client, pods, signal);
      await this.#say(
        offloading,
        (offloading.status?.sites ?? []).map(({ site }) => site),
        new Set(),
        signal,
      );
      // The pods' own end comes back by their changes; this is for the case that a change was missed.
      return againAfter(5_000);
    }
    const left = (offloading.status?.sites ?? [])
      .map(({ site }) => site)
      .filter((site) => this.#keepsTwin(site, namespace));
    for (const site of left) {
      if (this.#isReachable(site) && this.#requests.get(site, namespace))
        await this.#requests.delete(site, namespace, signal);
    }
    if (left.length > 0) {
      await this.#say(offloading, left, new Set(), signal);
      return againAfter(5_000);
    }
    await removeFinalizer(client, Offloading, offloading, FINALIZER, { signal });
    return done();
  }

  async #say(
    offloading: Offloading,
    sites: readonly SiteId[],
    wanted: ReadonlySet<SiteId>,
    signal: AbortSignal,
  ): Promise<void> {
    const { home } = this.#options;
    const { namespace = "" } = offloading.metadata;
    const views: TwinView[] = [...sites].sort().map((site) => ({
      site,
      wanted: wanted.has(site),
      reachable: this.#isReachable(site),
      request: this.#requests.get(site, namespace),
    }));
    const status = offloadingStatus(offloading, views, home.clock.now());
    if (sameContent(status, offloading.status)) return;
    await home.client.apply(
      Offloading,
      { metadata: { name: OFFLOADING_NAME, namespace }, status },
      { fieldManager: FIELD_MANAGER, subresource: "status", force: true, signal },
    );
  }

  /** Sites behind virtual nodes that the Offloading selects. */
  #eligible({ spec }: Offloading): Set<SiteId> {
    const labels = this.#nodes.list().map(({ metadata }) => metadata.labels ?? {});
    return new Set(
      labels.filter((each) => matchesSelector(spec.sites, each)).flatMap((each) => each[SITE_LABEL] ?? []),
    );
  }

  #sitesInUse(): Set<SiteId> {
    const { remotes } = this.#options;
    const sites = this.#offloadings
      .list()
      .flatMap((offloading) => [
        ...this.#eligible(offloading),
        ...(offloading.status?.sites ?? []).map(({ site }) => site),
      ]);
    return new Set(sites.filter((site) => remotes.get(site) !== undefined));
  }

  #hasPods(site: SiteId, namespace: string): boolean {
    return this.#options.pods.inNamespace(namespace).some(({ node }) => node.site === site);
  }

  #isReachable(site: SiteId): boolean {
    return this.#options.remotes.get(site)?.reachability.reachable ?? false;
  }

  async #label(namespace: string, value: "true" | null, signal: AbortSignal): Promise<void> {
    const { client } = this.#options.home;
    if (this.#namespaces.get({ name: namespace }) === undefined ? value === null : value === "true") return;
    const patch = { metadata: { labels: { [OFFLOADED_LABEL]: value } } };
    await client.patch(Namespace, { name: namespace }, "merge", patch, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  #get(namespace: string): Offloading | undefined {
    return this.#offloadings.get({ name: OFFLOADING_NAME, namespace });
  }

  #enqueue(namespace: string): void {
    this.#controller.enqueue({ name: OFFLOADING_NAME, namespace });
  }

  #all(): void {
    for (const request of this.#everyOffloading()) this.#controller.enqueue(request);
  }

  #everyOffloading(): Request[] {
    return this.#offloadings
      .list()
      .map(({ metadata }) => ({ name: OFFLOADING_NAME, namespace: metadata.namespace ?? "" }));
  }
}
