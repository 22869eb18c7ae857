import { newObject, Site, VIRTUAL_NODE } from "@fjord/api";
import { Cache, isAlreadyExists, Node, type SharedCache } from "@fjord/kube";
import { LOOPBACK_RANGE_ANNOTATION, STAND_IN_RANGE_ANNOTATION } from "@fjord/node/registration";
import type { Home } from "../../home.ts";
import type { PublishedFacts } from "../../protocol.ts";

export interface OwnSiteOptions {
  readonly home: Home;
  /** Name of the own Site object. */
  readonly siteName: string;
  /** Version of the agent. */
  readonly version: string;
  /** Version of the Kubernetes API, such as v1.36.0. */
  kubernetesVersion(): string | undefined;
  /** Makes the own Site where somebody has deleted it. @default with nothing in it */
  readonly make?: (signal: AbortSignal) => Promise<void>;
}

/** The own site, as its owner describes it and as its nodes show it: what policy is read from and what peers are told. */
export class OwnSite {
  readonly name: string;
  readonly #options: OwnSiteOptions;
  readonly #sites: SharedCache<Site>;
  readonly #nodes: Cache<Node>;
  readonly #listeners = new Set<() => void>();
  #published: PublishedFacts | undefined;

  constructor(options: OwnSiteOptions) {
    this.#options = options;
    this.name = options.siteName;
    const { home } = options;
    this.#sites = home.caches.open(Site);
    const { client, clock, random, logger } = home;
    const means = { client, clock, random, logger };
    this.#nodes = new Cache({
      ...means,
      kind: Node,
      scope: { labelSelector: `!${VIRTUAL_NODE}` },
      transform: trimNode,
    });
    const changed = () => this.#changed();
    this.#nodes.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
    this.#sites.cache.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  }

  /** The own Site object; undefined until it exists. */
  object = (): Site | undefined => this.#sites.cache.get({ name: this.name });

  /** Makes it anew; the cache will show it. */
  async make(signal: AbortSignal): Promise<void> {
    const { make, home } = this.#options;
    if (make !== undefined) return await make(signal);
    const draft = newObject(Site, { metadata: { name: this.name }, spec: {} });
    await home.client.create(Site, draft, { signal }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }

  /** What peers are told. */
  published(): PublishedFacts {
    this.#published ??= this.#facts();
    return this.#published;
  }

  /** Where the own agent is reached, as its owner says. */
  endpoints(): readonly string[] {
    return this.object()?.spec.endpoints ?? [];
  }

  /** The own nodes, without virtual ones, as far as somebody needs to know them. */
  nodes(): readonly Node[] {
    return this.#nodes.list();
  }

  /** Whether all of them are known. */
  knowsNodes(): boolean {
    return this.#nodes.hasSynced;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#nodes.run(signal);
  }

  #changed(): void {
    this.#published = undefined;
    for (const listener of this.#listeners) listener();
  }

  #facts(): PublishedFacts {
    const { spec } = this.object() ?? {};
    const kubernetesVersion = this.#options.kubernetesVersion();
    const seen = (field: "architecture" | "operatingSystem") =>
      distinct(this.#nodes.list().map(({ status }) => status?.nodeInfo?.[field]));
    const ranges = distinct(this.#nodes.list().map(loopbackRangeOf));
    return {
      name: spec?.name ?? this.name.slice(0, 63),
      ...(spec?.tier && { tier: spec.tier }),
      ...(spec?.location && { location: spec.location }),
      ...(spec?.properties && { properties: spec.properties }),
      architectures: seen("architecture"),
      operatingSystems: seen("operatingSystem"),
      ...(ranges.length > 0 && { loopbackRanges: ranges }),
      version: this.#options.version,
      ...(kubernetesVersion !== undefined && { kubernetesVersion }),
    };
  }
}

/** Of each node only what is told: a site may have thousands, and each lists its images. */
function trimNode({ apiVersion, kind, metadata, spec, status }: Node): Node {
  const { name, uid, resourceVersion, annotations } = metadata;
  const kept = [LOOPBACK_RANGE_ANNOTATION, STAND_IN_RANGE_ANNOTATION].flatMap((name) => {
    const value = annotations?.[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const { nodeInfo, addresses } = status ?? {};
  const { podCIDRs } = spec ?? {};
  const told = kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) };
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, ...told } as Node["metadata"],
    ...(podCIDRs && { spec: { podCIDRs } }),
    status: { ...(nodeInfo && { nodeInfo }), ...(addresses && { addresses }) },
  };
}

function loopbackRangeOf({ metadata }: Node): string | undefined {
  return metadata.annotations?.[LOOPBACK_RANGE_ANNOTATION];
}

/** As many as a peer takes. */
function distinct(values: readonly (string | undefined)[]): string[] {
  return [...new Set(values.filter((value) => value !== undefined))].sort().slice(0, 16);
}
