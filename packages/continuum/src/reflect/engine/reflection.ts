import { OFFLOADED_LABEL, OFFLOADING_NAME, Offloading, Site } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import {
  type Cache,
  ConfigMap,
  type DynamicObject,
  Namespace,
  PersistentVolumeClaim,
  type Pod,
  type Runnable,
  Secret,
  Service,
  sameContent,
} from "@fjord/kube";
import type { Addresses } from "../../addresses.ts";
import type { Home } from "../../home.ts";
import { isReadyApart, type OffloadedPods } from "../../offloaded-pods.ts";
import { resourceOf } from "../../reflection-rules.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { siteName } from "../../site-names.ts";
import type { Twins } from "../../twins.ts";
import type { VirtualNodes } from "../../virtual-nodes.ts";
import { CustomReflections } from "../custom/custom-reflections.ts";
import { InwardReflection } from "../custom/inward-reflection.ts";
import { EventReflection } from "../events/event-reflection.ts";
import { builtInKinds } from "../kinds/index.ts";
import type { ReflectedKind, TwinContext } from "../reflected-kind.ts";
import { KindReflection } from "./kind-reflection.ts";
import { NamespacePods } from "./namespace-pods.ts";
import { referencesOf } from "./pod-references.ts";
import { Policies } from "./policies.ts";
import { noCounters, type ReflectionCounters } from "./reflection-counters.ts";
import { PODS, SiteReferences } from "./site-references.ts";

export interface ReflectionOptions {
  readonly home: Home;
  readonly twins: Twins;
  readonly sites: RemoteSites;
  readonly pods: OffloadedPods;
  readonly nodes: VirtualNodes;
  readonly counters?: ReflectionCounters;
  /** @default all built-in kinds */
  readonly kinds?: readonly ReflectedKind[];
  /** What addresses here are called at sites. @default what they are */
  readonly addresses?: Addresses;
}

/** Keeps twins of the objects of offloaded namespaces at the sites where these have a twin. */
export class Reflection implements Runnable {
  readonly name = "reflection";
  readonly needsLeaderElection = true;
  readonly #options: ReflectionOptions;
  readonly #policies: Policies;
  readonly #references: SiteReferences;
  readonly #namespaces: Cache<Namespace>;
  readonly #sites: Cache<Site>;
  readonly #offloadings: Cache<Offloading>;
  readonly #kinds = new Map<string, KindReflection<KubeObject>>();
  readonly #inward = new Map<string, InwardReflection>();
  readonly #events: EventReflection;
  readonly #custom: CustomReflections;
  readonly #allPods: NamespacePods;
  readonly #reachable = new Map<SiteId, boolean>();
  /** Which site each virtual node was last seen to stand for. */
  readonly #siteOfNode = new Map<string, SiteId>();

  constructor(options: ReflectionOptions) {
    this.#options = options;
    const { caches } = options.home;
    this.#policies = new Policies(caches);
    this.#references = new SiteReferences(options.pods);
    this.#sites = caches.open(Site).cache;
    this.#offloadings = caches.open(Offloading).cache;
    this.#namespaces = caches.open(Namespace, { labelSelector: `${OFFLOADED_LABEL}=true` }).cache;
    this.#allPods = new NamespacePods(options.home, (namespace) => {
      for (const kind of this.#kinds.values()) kind.enqueuePodsOf(namespace);
    });
    const { counters = noCounters } = options;
    this.#events = new EventReflection({
      ...options,
      counters,
      policies: this.#policies,
      references: this.#references,
      twinned: (site, namespace, kind, name) => this.#twinned(site, namespace, kind, name),
    });
    this.#custom = new CustomReflections({
      ...options.home,
      rules: () => this.#policies.customRules(),
      outward: (kind) => this.#addCustom(kind),
      inward: (kind) => this.#addInward(kind),
      ended: (resource) => {
        this.#kinds.delete(resource);
        this.#inward.delete(resource);
      },
    });
    for (const kind of options.kinds ?? builtInKinds) this.#add(kind);
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const { twins, sites, pods, nodes, addresses } = this.#options;
    const release = [
      this.#references.start(),
      this.#references.onChange((site, namespace, resource, name) =>
        resource === PODS
          ? this.#events.look(site, namespace)
          : this.#kinds.get(resource)?.enqueue(site, namespace, name),
      ),
      twins.onChange((site, namespace) => this.#twinChanged(site, namespace)),
      sites.onChange((id) => this.#siteChanged(id)),
      addresses?.onChange((site) => this.#addressesChanged(site)),
      nodes.onChange((name) => this.#nodeChanged(name)),
      pods.onChange((namespace, name) => this.#podChanged(namespace, name)),
      this.#policies.onChange((namespace) => {
        this.#custom.follow(stop, abandon);
        this.#rulesChanged(namespace);
      }),
      this.#namespaces.addHandler({
        onAdd: () => this.#namespacesChanged(),
        onUpdate: (old, now) => {
          if (!sameContent(old.metadata.labels, now.metadata.labels)) this.#namespacesChanged();
        },
        onDelete: () => this.#namespacesChanged(),
      }),
    ];
    this.#follow();
    for (const namespace of this.#offloaded()) this.#references.lookAt(pods.inNamespace(namespace));
    this.#custom.follow(stop, abandon);
    await Promise.all(this.#kinds.values().map((kind) => kind.run(stop, abandon)));
    await this.#custom.stopped();
    for (const each of release) each?.();
    this.#allPods.keepOnly(new Set());
    await this.#events.stop();
  }

  /** Whether a site has what a pod expects there when it starts: the Services of its namespace, and what it names; and no volumes of claims of before. */
  isReadyFor(pod: Pod, site: SiteId): boolean {
    const { namespace = "" } = pod.metadata;
    if (this.#kinds.get(resourceOf(Service))?.isComplete(site, namespace) === false) return false;
    const { configmaps, secrets, persistentvolumeclaims } = referencesOf(pod);
    const claims = this.#kinds.get(resourceOf(PersistentVolumeClaim));
    if (persistentvolumeclaims.values().some((name) => claims?.mayBeOfEarlier(site, namespace, name))) return false;
    const areThere = (kind: Kind, names: ReadonlySet<string>) =>
      names.values().every((name) => this.#kinds.get(resourceOf(kind))?.isThere(site, namespace, name) !== false);
    return areThere(ConfigMap, configmaps) && areThere(Secret, secrets);
  }

  #addCustom(kind: ReflectedKind): KindReflection<KubeObject> {
    const reflection = this.#add(kind);
    this.#follow();
    return reflection;
  }

  #addInward(kind: Kind<DynamicObject>): InwardReflection {
    const { counters = noCounters } = this.#options;
    const tellRefusal = (site: SiteId, namespace: string, why: string) => this.#tellRefusal(site, namespace, why);
    const reflection = new InwardReflection({
      ...this.#options,
      counters,
      kind,
      policies: this.#policies,
      tellRefusal,
    });
    this.#inward.set(reflection.resource, reflection);
    this.#follow();
    return reflection;
  }

  /** Of what is to come from a site there is no object here to tell it by. */
  #tellRefusal(site: SiteId, namespace: string, why: string): void {
    const offloading = this.#offloadings.get({ name: OFFLOADING_NAME, namespace });
    if (offloading === undefined) return;
    const message = `nothing comes from ${siteName(site, this.#sites.list())} of ${why}`;
    this.#options.home.recorder.event(offloading, { type: "Warning", reason: "ReflectionFailed", message });
  }

  #add(kind: ReflectedKind): KindReflection<KubeObject> {
    const { home, twins, sites, counters = noCounters } = this.#options;
    const reflection = new KindReflection<KubeObject>({
      home,
      kind,
      twins,
      sites,
      counters,
      policies: this.#policies,
      references: this.#references,
      contextOf: (site, namespace) => this.#contextOf(site, namespace),
      knowsPods: (namespace) => this.#allPods.isKnown(namespace),
      mayHaveTwin: (resource, site, namespace, name) =>
        this.#kinds.get(resource)?.allows(site, namespace, name) ?? false,
    });
    this.#kinds.set(reflection.resource, reflection);
    if (kind.companion === undefined) return reflection;
    this.#kinds.get(resourceOf(kind.companion.kind))?.onSourceChange((namespace, name) => {
      for (const beside of reflection.namesBeside(namespace, name))
        for (const site of twins.sitesOf(namespace)) reflection.enqueue(site, namespace, beside);
    });
    return reflection;
  }

  #twinned(site: SiteId, namespace: string, kind: string, name: string): KubeObject | undefined {
    return this.#kinds
      .values()
      .filter((each) => each.kind.kind.kind === kind)
      .map((each) => each.twinned(site, namespace, name))
      .find((own) => own !== undefined);
  }

  #contextOf(site: SiteId, namespace: string): TwinContext {
    const { home, twins, nodes, pods, addresses } = this.#options;
    return {
      consumer: home.identity.id,
      site,
      siteName: () => siteName(site, this.#sites.list()),
      namespace,
      isFirstSite: twins.sitesOf(namespace).every((other) => site <= other),
      isNodeOfSite: (node) => nodes.get(node)?.site === site,
      guests: () =>
        pods
          .inNamespace(namespace)
          .filter(({ node }) => node.site === site)
          .map(({ pod }) => pod),
      namespaces: () =>
        twins
          .namespacesAt(site)
          .map((name) => ({ name, labels: this.#namespaces.get({ name })?.metadata.labels ?? {} })),
      twinOf: (name) => twins.twinOf(site, name),
      translateAddress: (address, node) =>
        addresses === undefined ? address : addresses.calledThere(site, address, nodes.get(node ?? "")?.site),
      translateBlock: (block) => addresses?.blocksThere?.(site, block) ?? [block],
      isReadyApart: (pod) => {
        const found = pods.get(namespace, pod);
        return found !== undefined && addresses?.isSilent?.(found.node.site) === true && isReadyApart(found.pod);
      },
      families: () => addresses?.familiesThere?.(site),
      podsElsewhere: (name) =>
        this.#allPods.in(name).filter(({ spec }) => nodes.get(spec?.nodeName ?? "")?.site !== site),
    };
  }

  #follow(): void {
    const namespaces = this.#offloaded();
    const sites = new Set([...namespaces].flatMap((namespace) => this.#options.twins.sitesOf(namespace)));
    for (const kind of this.#kinds.values()) kind.follow(namespaces, sites);
    for (const kind of this.#inward.values()) kind.follow(namespaces);
    this.#events.lookAll(namespaces);
    this.#allPods.keepOnly(namespaces);
  }

  /** Own namespaces that have a twin somewhere. */
  #offloaded(): Set<string> {
    const { sites, twins } = this.#options;
    return new Set(sites.list().flatMap(({ id }) => twins.namespacesAt(id)));
  }

  #twinChanged(site: SiteId, namespace: string): void {
    this.#follow();
    this.#references.lookAt(this.#options.pods.inNamespace(namespace));
    for (const kind of this.#kinds.values()) {
      kind.enqueueNamespace(namespace, site);
      kind.enqueueNaming(namespace, site);
    }
    this.#namespacesChanged();
  }

  #siteChanged(id: SiteId): void {
    const { sites, twins } = this.#options;
    const site = sites.get(id);
    const isReachable = site?.reachability.reachable ?? false;
    if (site !== undefined && this.#reachable.get(id) === isReachable) return;
    if (site === undefined) this.#reachable.delete(id);
    else this.#reachable.set(id, isReachable);
    if (twins.namespacesAt(id).length === 0) return;
    this.#follow();
    if (isReachable) for (const kind of this.#kinds.values()) kind.enqueueSite(id);
  }

  /** Pods may be known before the node that they are on. */
  #nodeChanged(name: string): void {
    const { nodes, pods } = this.#options;
    const site = nodes.get(name)?.site;
    if (this.#siteOfNode.get(name) === site) return;
    if (site === undefined) this.#siteOfNode.delete(name);
    else this.#siteOfNode.set(name, site);
    this.#references.lookAt(pods.onNode(name));
  }

  #addressesChanged(site: SiteId): void {
    for (const kind of this.#kinds.values()) if (kind.kind.follows?.includes("addresses")) kind.enqueueSite(site);
  }

  #podChanged(namespace: string, name: string): void {
    const { pods, addresses } = this.#options;
    // Of one that cannot be reached from here, its readiness elsewhere is looked up in the pod itself.
    const isCutOff = addresses?.isSilent?.(pods.get(namespace, name)?.node.site ?? "") === true;
    for (const kind of this.#kinds.values()) {
      const { follows = [] } = kind.kind;
      const isConcerned = follows.includes("pods") || (isCutOff && follows.includes("addresses"));
      if (isConcerned && kind.hasSources(namespace)) kind.enqueueNamespace(namespace);
    }
  }

  #namespacesChanged(): void {
    for (const kind of this.#kinds.values())
      if (kind.kind.follows?.includes("namespaces"))
        for (const namespace of this.#offloaded()) if (kind.hasSources(namespace)) kind.enqueueNamespace(namespace);
  }

  #rulesChanged(namespace?: string): void {
    this.#follow();
    for (const kind of this.#kinds.values())
      for (const each of namespace === undefined ? this.#offloaded() : [namespace]) kind.enqueueNamespace(each);
  }
}
