import type { Contract, Offloading, Peering, Site, VirtualNode } from "@fjord/api";
import type { KubeObject } from "@fjord/base";
import type { CoreEvent, Node, Pod } from "@fjord/kube";

/** An object that makes pods, as far as the page looks at it. */
export interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly parallelism?: number;
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly image?: string }[] } };
  };
  readonly status?: {
    readonly desiredNumberScheduled?: number;
    readonly succeeded?: number;
    readonly active?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** Everything that the page is made of, as the own API says it at one moment. */
export interface World {
  readonly sites: readonly Site[];
  readonly peerings: readonly Peering[];
  readonly contracts: readonly Contract[];
  readonly virtualNodes: readonly VirtualNode[];
  readonly offloadings: readonly Offloading[];
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly workloads: readonly Workload[];
  readonly events: readonly CoreEvent[];
}
