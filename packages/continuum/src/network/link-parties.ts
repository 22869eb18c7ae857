import { type AddressPlan, CONSUMER_LABEL, type Import, type Link, type Site } from "@fjord/api";
import type { Cache, Pod } from "@fjord/kube";
import type { SiteId } from "../site-identity.ts";
import type { Twins } from "../twins.ts";
import type { VirtualNodes } from "../virtual-nodes.ts";
import type { ExportEntry } from "./export-entries.ts";
import { consumerGroups, exporterGroups, importerGroups, machineGroups, providerGroups } from "./groups.ts";
import type { NamespacePods } from "./namespace-pods.ts";
import type { Group } from "./network-state.ts";
import type { OwnObjects } from "./own-objects.ts";

export interface LinkPartiesOptions {
  readonly own: { object(): Site | undefined };
  readonly twins: Twins;
  readonly nodes: VirtualNodes;
  readonly links: Pick<OwnObjects<Link>, "names">;
  /** Of all consumers. */
  readonly guests: Pick<Cache<Pod>, "list">;
  readonly imports: Pick<Cache<Import>, "list">;
  readonly pods: NamespacePods;
  /** Whether the owner asks for a link with it by a Peering. */
  isProvider(site: SiteId): boolean;
}

/** Who may talk over the link with a site. */
export class LinkParties {
  readonly #options: LinkPartiesOptions;

  constructor(options: LinkPartiesOptions) {
    this.#options = options;
  }

  async groups(
    site: SiteId,
    plan: AddressPlan["spec"],
    entries: readonly ExportEntry[],
    /** What own namespaces import of this site. */
    own: ReadonlyMap<string, readonly ExportEntry[]>,
    signal: AbortSignal,
  ): Promise<Group[]> {
    const { twins, nodes, pods, isProvider } = this.#options;
    const namespaces = await Promise.all(
      twins.namespacesAt(site).map(async (name) => ({
        name,
        pods: await pods.in(name, signal),
        isThere: ({ spec }: Pod) => nodes.get(spec?.nodeName ?? "")?.site === site,
        isElsewhere: ({ spec }: Pod) => nodes.get(spec?.nodeName ?? "") !== undefined,
        exported: (own.get(name) ?? []).flatMap(({ addresses }) => addresses),
      })),
    );
    const importing = await Promise.all(
      this.#importing(site).map(async (name) => ({
        name,
        pods: (await pods.in(name, signal)).filter(({ spec }) => nodes.get(spec?.nodeName ?? "") === undefined),
        addresses: this.#importsOf(site).flatMap(({ metadata, status }) =>
          metadata.namespace === name ? (status?.addresses ?? []) : [],
        ),
      })),
    );
    const groups = [
      ...consumerGroups(plan, namespaces),
      ...(isProvider(site) && this.#options.own.object()?.spec.network?.machines ? machineGroups(plan) : []),
      ...providerGroups(plan, this.guestsOf(site)),
      ...exporterGroups(plan, entries),
      ...importerGroups(plan, importing),
    ];
    return [...new Map(groups.map((group) => [group.name, group])).values()];
  }

  guestsOf(consumer: SiteId): Pod[] {
    return this.#options.guests.list().filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] === consumer);
  }

  /** Lets go of pods that no link has to know of. */
  followPods(): void {
    const { links, twins, pods } = this.#options;
    const namespaces = links.names().flatMap((site) => [...twins.namespacesAt(site), ...this.#importing(site)]);
    pods.keepOnly(new Set(namespaces));
  }

  #importsOf(site: SiteId): Import[] {
    return this.#options.imports
      .list()
      .filter(({ metadata, status }) => status?.siteId === site && metadata.deletionTimestamp === undefined);
  }

  /** Namespaces that import something of it. */
  #importing(site: SiteId): string[] {
    return [...new Set(this.#importsOf(site).map(({ metadata }) => metadata.namespace ?? ""))];
  }
}
