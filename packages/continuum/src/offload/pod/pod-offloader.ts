import { Contract, type ShadowPod } from "@fjord/api";
import {
  againAfter,
  Controller,
  done,
  isNotFound,
  Pod,
  type Reconcile,
  type Request,
  type Result,
  type Runnable,
  type SharedCache,
} from "@fjord/kube";
import { StatusWriter } from "@fjord/node/pod-status";
import type { Addresses } from "../../addresses.ts";
import type { Home } from "../../home.ts";
import type { OffloadedPod, OffloadedPods } from "../../offloaded-pods.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";
import type { KnownVirtualNode, VirtualNodes } from "../../virtual-nodes.ts";
import type { ForgeContext } from "./forge/index.ts";
import { HomePods } from "./home-pods.ts";
import { NodeNews } from "./node-news.ts";
import { deleteShadow, type Place, PodLife, type Work } from "./pod-life.ts";
import { RemotePods } from "./remote-pods.ts";
import { OFFLOADED_CONDITION } from "./status/index.ts";

export interface PodOffloaderOptions {
  readonly home: Home;
  readonly nodes: VirtualNodes;
  readonly twins: Twins;
  readonly sites: RemoteSites;
  /** Where pods elsewhere reach the home API, for those that ask for it. */
  readonly homeApi?: ForgeContext["homeApi"];
  /** Whether a site has what a pod expects there when it starts. @default it has */
  readonly isReadyFor?: (pod: Pod, site: SiteId) => boolean;
  /** Whether pods of a namespace may be at other sites at all. @default they may */
  readonly isOffloaded?: (namespace: string, signal: AbortSignal) => Promise<boolean>;
  /** What addresses of guests are called here. @default what they are */
  readonly addresses?: Addresses;
  /** How many pods are worked on at once. @default 16 */
  readonly concurrency?: number;
}

/** A site's pods, with what was known of the site when it was last looked at. */
type FollowedSite = RemotePods & { wasReachable?: boolean; given?: string };

/** How long a ShadowPod waits that is nobody's, while the own pod may yet be on a node that is not known. */
const ORPHAN_MS = 15_000;
/** How long a deletion that was answered may take to be shown before it is asked for again. */
const SHOWN_MS = 5_000;

/** The consumer's side of pods: brings those on virtual nodes to their providers, and their statuses home. */
export class PodOffloader implements OffloadedPods, Runnable {
  readonly name = "offloaded pods";
  readonly needsLeaderElection = true;
  readonly #options: PodOffloaderOptions;
  readonly #pods: HomePods;
  readonly #life: PodLife;
  readonly #writer: StatusWriter;
  readonly #controller: Controller;
  readonly #contracts: SharedCache<Contract>;
  readonly #news: NodeNews;
  /** Uids of own pods that were seen to go while other sites still had something of them. */
  readonly #gone = new Set<string>();
  /** Shadow pods whose deletion was answered and has yet to be shown, by uid, with when that was. */
  readonly #deleted = new Map<string, number>();
  readonly #remotes = new Map<SiteId, FollowedSite>();

  constructor(options: PodOffloaderOptions) {
    this.#options = options;
    const { home, homeApi, addresses, isReadyFor, isOffloaded } = options;
    const { client, clock, random, logger } = home;
    this.#pods = new HomePods({ ...options, onGone: (uid) => this.#podGone(uid) });
    this.#writer = new StatusWriter({ client, clock, random, logger, workers: 16, alsoOwn: [OFFLOADED_CONDITION] });
    this.#contracts = home.caches.open(Contract);
    const isOver = (place: Pick<Place, "site" | "node">) =>
      isContractOver(place, this.#contracts.cache.get({ name: place.node.contract }));
    this.#news = new NodeNews(options.nodes, (node) => {
      const site = options.sites.get(node.site);
      return site !== undefined && isOver({ site, node });
    });
    this.#life = new PodLife({
      home,
      writer: this.#writer,
      isOver,
      onShadowDeleted: ({ remote }, shadow) => this.#noteDeleted(remote, shadow),
      ...(homeApi && { homeApi }),
      ...(addresses && { addresses }),
      ...(isReadyFor && { isReadyFor }),
      ...(isOffloaded && { isOffloaded }),
    });
    this.#controller = new Controller({
      name: "offloaded-pods",
      sources: [],
      reconcile: this.#reconcile,
      concurrency: options.concurrency ?? 16,
      waitsOn: ({ namespace = "", name }) => this.#siteOf(namespace, name),
      backoff: { initial: 50, max: 5_000 },
      clock,
      random,
      logger,
      ...(home.metrics && { metrics: home.metrics }),
    });
  }

  get(namespace: string, name: string): OffloadedPod | undefined {
    return this.#pods.get(namespace, name);
  }

  async isPreceded(
    { pod: { metadata }, node, twinNamespace = "" }: OffloadedPod,
    signal: AbortSignal,
  ): Promise<boolean> {
    const remote = this.#remotes.get(node.site);
    // Until its site is followed it may be anybody's.
    if (remote === undefined) return true;
    return await remote.hasAnothers(metadata.uid ?? "", twinNamespace, metadata.name ?? "", signal);
  }

  onNode(node: string): readonly OffloadedPod[] {
    return this.#pods.onNode(node);
  }

  inNamespace(namespace: string): readonly OffloadedPod[] {
    return this.#pods.inNamespace(namespace);
  }

  onChange(listener: (namespace: string, name: string) => void): () => void {
    return this.#pods.onChange(listener);
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const { nodes, sites, twins, addresses } = this.#options;
    const follow = () => {
      this.#pods.follow();
      this.#followSites(stop);
    };
    const release = [
      this.#pods.onChange((namespace, name) => this.#controller.enqueue({ namespace, name })),
      nodes.onChange((name) => {
        follow();
        if (this.#news.isForPods(name)) this.#enqueueNode(name);
      }),
      sites.onChange((id) => this.#siteChanged(id, stop)),
      twins.onChange((site, namespace) => this.#enqueueNamespace(site, namespace)),
      addresses?.onChange((site) => this.#enqueueSite(site)),
    ];
    follow();
    await Promise.all([this.#writer.run(stop), this.#controller.run(stop, abandon)]);
    for (const each of release) each?.();
    this.#pods.stop();
    await Promise.all(this.#remotes.values().map((remote) => remote.stop()));
    this.#remotes.clear();
    this.#contracts[Symbol.dispose]();
  }

  readonly #reconcile: Reconcile = async ({ namespace = "", name }, work): Promise<Result> => {
    const pod = this.#pods.pod(namespace, name);
    if (pod === undefined || this.#isTaken(pod)) return await this.#bereaved(namespace, name, work);
    const node = this.#options.nodes.get(pod.spec?.nodeName ?? "");
    const place = node && this.#placeOf(node, namespace);
    if (place === undefined) return done();
    const isEnding = pod.metadata.deletionTimestamp !== undefined;
    return isEnding ? await this.#life.end(pod, place, work) : await this.#life.follow(pod, place, work);
  };

  /** Whether it is a machine's by now, which would run it as well. */
  #isTaken({ spec }: Pod): boolean {
    return this.#options.nodes.taken().some(({ name }) => name === spec?.nodeName);
  }

  /** Which site is asked for a pod: where it is, or where one is left of which there is none at home. */
  #siteOf(namespace: string, name: string): SiteId | undefined {
    const { nodes, twins } = this.#options;
    const pod = this.#pods.pod(namespace, name);
    if (pod !== undefined) return nodes.get(pod.spec?.nodeName ?? "")?.site;
    return this.#remotes.entries().find(([id, remote]) => {
      const twin = twins.twinOf(id, namespace);
      return twin !== undefined && remote.shadowAt(twin, name) !== undefined;
    })?.[0];
  }

  #placeOf(node: KnownVirtualNode, namespace: string): Place | undefined {
    const { sites, twins } = this.#options;
    const site = sites.get(node.site);
    const remote = this.#remotes.get(node.site);
    if (site === undefined || remote === undefined) return undefined;
    const twin = twins.twinOf(node.site, namespace);
    const lack = twin === undefined ? twins.lackOf?.(node.site, namespace) : undefined;
    return { node, site, remote, ...(twin !== undefined && { twin }), ...(lack !== undefined && { lack }) };
  }

  /** No pod of the name is at home, or on a node of another's: what other sites still have of one is to go. */
  async #bereaved(namespace: string, name: string, work: Work): Promise<Result> {
    // Before the own lists are complete, a pod that is not in them may be there all the same.
    if (!this.#pods.hasSynced) return againAfter(1_000);
    let result = done();
    for (const [id, remote] of this.#remotes) {
      const { twins, sites, home } = this.#options;
      const twin = twins.twinOf(id, namespace);
      const shadow = twin === undefined ? undefined : remote.shadowAt(twin, name);
      if (twin === undefined || shadow === undefined || shadow.metadata.deletionTimestamp !== undefined) continue;
      const site = sites.get(id);
      if (site === undefined || !site.reachability.reachable) continue;
      const { originUid } = shadow.spec;
      const { uid = "" } = shadow.metadata;
      const left = (this.#deleted.get(uid) ?? Number.NEGATIVE_INFINITY) + SHOWN_MS - home.clock.now();
      if (left > 0) {
        result = againAfter(left);
        continue;
      }
      if (!this.#gone.has(originUid)) {
        const own = await home.client.get(Pod, { namespace, name }, { signal: work.signal }).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
        // The own pod may be on a virtual node that is gone, until Kubernetes removes it.
        if (own?.metadata.uid === originUid && !this.#isTaken(own)) {
          result = againAfter(ORPHAN_MS);
          continue;
        }
      }
      await deleteShadow(site.kube, twin, name, uid, work.signal);
      this.#gone.delete(originUid);
      this.#noteDeleted(remote, shadow);
    }
    return result;
  }

  /** Until the watch shows it, the shadow pod seems to be there. */
  #noteDeleted(remote: RemotePods, { metadata: { namespace = "", name = "", uid = "" } }: ShadowPod): void {
    // Where the watch was quicker than the answer, nobody would ever take it away.
    if (remote.shadowAt(namespace, name)?.metadata.uid === uid) this.#deleted.set(uid, this.#options.home.clock.now());
  }

  #podGone(uid: string): void {
    this.#life.forget(uid);
    if (this.#remotes.values().some((remote) => remote.shadowOf(uid) !== undefined)) this.#gone.add(uid);
  }

  /** One pair of watches for each site that a virtual node stands for. */
  #followSites(stop: AbortSignal): void {
    const { nodes, sites, home } = this.#options;
    for (const id of new Set([...nodes.list(), ...nodes.taken()].map(({ site }) => site))) {
      const site = sites.get(id);
      if (site === undefined || this.#remotes.has(id) || stop.aborted) continue;
      const { clock, random, logger } = home;
      const remote: FollowedSite = new RemotePods({
        clock,
        random,
        logger,
        client: site.kube,
        onChange: (uid, namespace, name) => this.#remoteChanged(id, uid, namespace, name),
        onShadowGone: (shadowUid) => this.#deleted.delete(shadowUid),
        onSync: () => this.#enqueueSite(id),
      });
      this.#remotes.set(id, remote);
      remote.wasReachable = site.reachability.reachable;
      remote.start(stop);
    }
    for (const [id, remote] of this.#remotes) {
      if (sites.get(id) !== undefined) continue;
      this.#remotes.delete(id);
      this.#deleted.clear();
      void remote.stop();
    }
  }

  #siteChanged(id: SiteId, stop: AbortSignal): void {
    this.#followSites(stop);
    const remote = this.#remotes.get(id);
    const site = this.#options.sites.get(id);
    const isReachable = site?.reachability.reachable ?? false;
    if (remote === undefined) return;
    const given = JSON.stringify(site?.report?.guestPrivileges);
    // Pods may go that could not.
    if (remote.given !== given) this.#enqueueSite(id);
    remote.given = given;
    if (remote.wasReachable === isReachable) return;
    remote.wasReachable = isReachable;
    if (!isReachable) return;
    remote.restart(stop);
    this.#enqueueSite(id);
  }

  #remoteChanged(site: SiteId, uid: string, twin: string, name: string): void {
    if (this.#remotes.get(site)?.shadowOf(uid) === undefined) this.#gone.delete(uid);
    const key = this.#pods.keyOf(uid);
    if (key !== undefined) this.#controller.enqueue(requestOf(key));
    const namespace = this.#options.twins.originOf(site, twin);
    // Also where the uid is another's: a later pod of the name waits for this one to go.
    if (namespace !== undefined) this.#controller.enqueue({ namespace, name });
  }

  #enqueueSite(id: SiteId): void {
    for (const { name } of this.#options.nodes.at(id)) this.#enqueueNode(name);
    for (const shadow of this.#remotes.get(id)?.shadows() ?? []) {
      const { namespace = "", name = "" } = shadow.metadata;
      this.#remoteChanged(id, shadow.spec.originUid, namespace, name);
    }
  }

  #enqueueNode(node: string): void {
    for (const { metadata } of this.#pods.podsOn(node)) {
      this.#controller.enqueue({ namespace: metadata.namespace ?? "", name: metadata.name ?? "" });
    }
  }

  #enqueueNamespace(site: SiteId, namespace: string): void {
    for (const { pod } of this.#pods.inNamespace(namespace)) {
      this.#controller.enqueue({ namespace, name: pod.metadata.name ?? "" });
    }
    const twin = this.#options.twins.twinOf(site, namespace);
    for (const shadow of this.#remotes.get(site)?.shadows() ?? []) {
      const { name = "" } = shadow.metadata;
      if (shadow.metadata.namespace === twin) this.#controller.enqueue({ namespace, name });
    }
  }
}

/** A renewal ends the contract before it too, but nothing that runs under it. */
function isContractOver({ site, node }: Pick<Place, "site" | "node">, contract: Contract | undefined): boolean {
  const ended = contract?.status?.conditions?.find(({ type, status }) => type === "Ended" && status === "True");
  if (ended !== undefined) return ended.reason !== "Superseded";
  const told = site.report?.contracts.find(({ id }) => id === node.contract);
  return told?.phase === "Ended" && told.endReason !== "Superseded";
}

function requestOf(key: string): Request {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
