import { Contract, Offloading, Peering, ShadowPod, Site, TwinNamespace, VirtualNode } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import {
  ClusterRoleBinding,
  ConfigMap,
  Deployment,
  Event,
  Job,
  type KubeClient,
  Lease,
  Namespace,
  Node,
  Pod,
  RoleBinding,
  Secret,
  Service,
  StatefulSet,
} from "@fjord/kube";

const kinds = {
  namespaces: Namespace,
  nodes: Node,
  pods: Pod,
  deployments: Deployment,
  statefulSets: StatefulSet,
  jobs: Job,
  configMaps: ConfigMap,
  secrets: Secret,
  services: Service,
  events: Event,
  leases: Lease,
  roleBindings: RoleBinding,
  clusterRoleBindings: ClusterRoleBinding,
  sites: Site,
  peerings: Peering,
  contracts: Contract,
  virtualNodes: VirtualNode,
  offloadings: Offloading,
  twinNamespaces: TwinNamespace,
  shadowPods: ShadowPod,
} as const;

/** All objects of one site that the checks look at, read one kind after the other. */
export type SiteSnapshot = {
  readonly site: string;
  /** Id of the site. */
  readonly id: string;
} & { readonly [K in keyof typeof kinds]: readonly ObjectOfKind<(typeof kinds)[K]>[] };

type ObjectOfKind<K> = K extends Kind<infer T extends KubeObject> ? T : never;

export type Snapshot = ReadonlyMap<string, SiteSnapshot>;

export async function takeSnapshot(clients: ReadonlyMap<string, KubeClient>): Promise<Snapshot> {
  const sites = await Promise.all(
    [...clients].map(async ([site, client]) => {
      const signal = AbortSignal.timeout(30_000);
      const found: Record<string, readonly KubeObject[]> = {};
      for (const [name, kind] of Object.entries(kinds)) {
        found[name] = (await client.list(kind as Kind<KubeObject>, { signal, omitManagedFields: true })).items;
      }
      const own = (found.sites as readonly Site[]).find(({ status }) => status?.role === "Self");
      return [site, { site, id: own?.status?.id ?? "", ...found } as unknown as SiteSnapshot] as const;
    }),
  );
  return new Map(sites);
}
