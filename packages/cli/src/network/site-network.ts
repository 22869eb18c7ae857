import { AddressPlan, Export, Link } from "@fjord/api";
import { fabricFaults, type SiteView } from "@fjord/continuum/network-path";
import { getCondition, isForbidden, isNotFound, type KubeClient, Namespace, NetworkPolicy, Node } from "@fjord/kube";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { NoOwnSite } from "../errors.ts";
import { idOf, type KnownPlaces, knownPlaces, ownSiteIn, siteById } from "../place/known-places.ts";

/** What a site's API says of its links, and of where its pods are. */
export interface SiteNetwork extends Omit<SiteView, "policies" | "namespaces"> {
  readonly client: KubeClient;
  readonly places: KnownPlaces;
}

export async function siteNetwork(client: KubeClient, signal: AbortSignal): Promise<SiteNetwork> {
  const [plans, links, exports, places, nodes] = await Promise.all([
    listOrExplain(client, AddressPlan, signal),
    listOrExplain(client, Link, signal),
    client.list(Export, { signal }).catch((error: unknown) => {
      // One of before there were Exports has none, and who may not see them is told so.
      if (isNotFound(error) || isForbidden(error)) return undefined;
      throw error;
    }),
    knownPlaces(client, signal),
    client.list(Node, { signal, omitManagedFields: true }),
  ]);
  const own = ownSiteIn(places);
  const id = own && idOf(own);
  if (own === undefined || id === undefined) throw new NoOwnSite({ server: client.transport.server });
  return {
    client,
    places,
    id,
    name: own.metadata.name ?? id,
    nameOf: (site) => siteById(places, site)?.metadata.name,
    reachable: (site) => {
      const ready = getCondition(siteById(places, site)?.status?.conditions, "Ready");
      return ready && ready.status === "True";
    },
    plans,
    links,
    ...(exports && { exports: exports.items }),
    faults: fabricFaults(own, plans, links),
    ranges: own.spec.network?.podRanges ?? nodes.items.flatMap(({ spec }) => spec?.podCIDRs ?? []),
  };
}

/** With the policies of some namespaces, which are what else decides. */
export async function withPolicies(
  network: SiteNetwork,
  names: readonly string[],
  signal: AbortSignal,
): Promise<SiteView> {
  const { client } = network;
  const found = await Promise.all(
    [...new Set(names)].map(async (namespace) => {
      const [policies, object] = await Promise.all([
        client.list(NetworkPolicy, { namespace, signal }),
        client.get(Namespace, { name: namespace }, { signal }).catch((error: unknown) => {
          if (isNotFound(error) || isForbidden(error)) return undefined;
          throw error;
        }),
      ]);
      const labels = { "kubernetes.io/metadata.name": namespace, ...object?.metadata.labels };
      return { policies: policies.items, entry: [namespace, labels] as const };
    }),
  );
  return {
    ...network,
    policies: found.flatMap(({ policies }) => policies),
    namespaces: new Map(found.map(({ entry }) => entry)),
  };
}
