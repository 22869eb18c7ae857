import { type Contract, type Offloading, type Peering, SITE_LABEL, type Site, type VirtualNode } from "@fjord/api";
import type { CoreEvent, Node, Pod } from "@fjord/kube";
import type { Workload, World } from "./world.ts";

/** A small continuum: harbor (here, cloud), wave (edge, peered), wood (edge, paired). */

export const HARBOR = "aaaaaaaaaaaaaaaaaaaaaaaaaa";
export const WAVE = "bbbbbbbbbbbbbbbbbbbbbbbbbb";
export const WOOD = "cccccccccccccccccccccccccc";
const T = "2030-01-01T00:00:00Z";

const condition = (type: string, status: string, reason: string, message = "") => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: T,
});

export function site(
  name: string,
  id: string,
  more: { tier?: string; role?: string; reachable?: boolean; spec?: object } = {},
): Site {
  const { tier = "edge", role = "Peer", reachable = true } = more;
  const conditions =
    role === "Self"
      ? [condition("Ready", "True", "Serving"), condition("Reachable", "True", "Self")]
      : reachable
        ? [condition("Ready", "True", "Reachable"), condition("Reachable", "True", "Dialled")]
        : [condition("Ready", "False", "Unreachable"), condition("Reachable", "False", "TimedOut", "it fell silent")];
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "Site",
    metadata: { name },
    spec: { id, mayConsume: false, ...more.spec },
    status: { id, role, published: { tier, version: "0.1.0" }, conditions },
  } as Site;
}

export function contract(
  name: string,
  consumer: string,
  provider: string,
  more: { standing?: string; phase?: string; peerStanding?: string; used?: object } = {},
): Contract {
  const { standing = "Open", phase = "Active", ...status } = more;
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "Contract",
    metadata: { name },
    spec: {
      standing,
      terms: {
        id: name,
        consumer,
        provider,
        resources: { cpu: 4, memory: "8Gi", pods: 50 },
        notBefore: T,
        notAfter: "2030-01-02T00:00:00Z",
        enforcement: "None",
      },
    },
    status: {
      side: provider === HARBOR ? "Provider" : "Consumer",
      phase,
      conditions: [condition("Active", "True", "InForce")],
      ...status,
    },
  } as unknown as Contract;
}

export function peering(
  name: string,
  contractName: string | undefined,
  conditions: [string, string, string, string?][] = [["Ready", "True", "InService"]],
): Peering {
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "Peering",
    metadata: { name },
    spec: { site: name, resources: { cpu: 4, memory: "8Gi" }, renew: true, virtualNode: {} },
    status: {
      ...(contractName !== undefined && { contract: contractName, virtualNode: name }),
      conditions: conditions.map(([type, status, reason, message]) => condition(type, status, reason, message)),
    },
  } as unknown as Peering;
}

export function virtualNode(name: string, contractName: string, provider: string): VirtualNode {
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "VirtualNode",
    metadata: { name },
    spec: { contract: contractName },
    status: { provider },
  } as unknown as VirtualNode;
}

export function node(
  name: string,
  more: { ready?: boolean; allocatable?: Record<string, string>; unschedulable?: boolean; site?: string } = {},
): Node {
  const { ready = true, allocatable = { cpu: "4", memory: "8Gi", pods: "110" }, unschedulable, site: of } = more;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, ...(of !== undefined && { labels: { [SITE_LABEL]: of } }) },
    spec: { ...(unschedulable && { unschedulable }) },
    status: { allocatable, conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  } as Node;
}

interface PodShape {
  readonly namespace?: string;
  readonly node?: string;
  readonly ready?: boolean;
  readonly phase?: string;
  readonly owner?: { kind: string; name: string };
  readonly labels?: Record<string, string>;
  readonly status?: object;
  readonly deleting?: boolean;
}

export function pod(name: string, shape: PodShape = {}): Pod {
  const {
    namespace = "shop",
    node: nodeName,
    ready = nodeName !== undefined,
    phase = nodeName === undefined ? "Pending" : "Running",
  } = shape;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: shape.labels ?? {},
      ...(shape.deleting && { deletionTimestamp: T }),
      ...(shape.owner && { ownerReferences: [{ apiVersion: "apps/v1", uid: "1", controller: true, ...shape.owner }] }),
    },
    spec: {
      ...(nodeName !== undefined && { nodeName }),
      containers: [{ name: "main", image: "web:1", resources: { requests: { cpu: "500m", memory: "1Gi" } } }],
    },
    status: {
      phase,
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses: [{ name: "main", ready, restartCount: 2, image: "", imageID: "", state: { running: {} } }],
      ...shape.status,
    },
  } as unknown as Pod;
}

/** A pod of Deployment `web`. */
export function webPod(suffix: string, shape: PodShape = {}): Pod {
  return pod(`web-7d4b9-${suffix}`, {
    owner: { kind: "ReplicaSet", name: "web-7d4b9" },
    labels: { "pod-template-hash": "7d4b9" },
    ...shape,
  });
}

export function deployment(name: string, replicas: number, namespace = "shop"): Workload {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, creationTimestamp: T },
    spec: { replicas, template: { spec: { containers: [{ image: "web:1" }] } } },
  };
}

export function offloading(
  namespace: string,
  pods = "Both",
  whenUnreachable: object = { action: "Evict" },
): Offloading {
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "Offloading",
    metadata: { name: "offloading", namespace },
    spec: { pods, whenUnreachable },
  } as unknown as Offloading;
}

export function event(
  kind: string,
  name: string,
  more: { namespace?: string; reason?: string; at?: string; type?: string; count?: number } = {},
): CoreEvent {
  const { namespace, reason = "Happened", at = T, type = "Normal", count } = more;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${reason}.${at}`, namespace: namespace ?? "default" },
    involvedObject: { kind, name, ...(namespace !== undefined && { namespace }) },
    type,
    reason,
    message: `${reason} to ${name}`,
    lastTimestamp: at,
    ...(count !== undefined && { count }),
  } as CoreEvent;
}

export function world(more: Partial<World> = {}): World {
  return {
    sites: [site("harbor", HARBOR, { tier: "cloud", role: "Self" }), site("wave", WAVE), site("wood", WOOD)],
    peerings: [peering("wave", "c-1")],
    contracts: [contract("c-1", HARBOR, WAVE)],
    virtualNodes: [virtualNode("wave", "c-1", WAVE)],
    offloadings: [offloading("shop")],
    nodes: [node("own-1"), node("wave", { site: WAVE })],
    pods: [],
    workloads: [],
    events: [],
    ...more,
  };
}
