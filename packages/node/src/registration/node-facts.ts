import type { Node } from "@fjord/kube";
import type { Taint } from "./taints.ts";

export type NodeStatus = NonNullable<Node["status"]>;

/** A condition as its source knows it; times are added when it is written. */
export interface ConditionFacts {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** What a node says of itself once, when it registers. */
export interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Set when the node is made, and never again: from then on they are the administrators'. */
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
  readonly providerID?: string;
  /** Tells this machine from others of the same name. Absent: nobody looks. */
  readonly machine?: string;
  /** Whether a Node of the name that is there already is this one's. @default any is */
  isOwn?(node: Node): boolean;
}

/** What a node says of itself whenever it is asked. */
export interface NodeFacts {
  readonly addresses: NonNullable<NodeStatus["addresses"]>;
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly conditions: readonly ConditionFacts[];
  readonly nodeInfo: NonNullable<NodeStatus["nodeInfo"]>;
  /** Of the kubelet API. */
  readonly kubeletPort?: number;
  readonly images?: NonNullable<NodeStatus["images"]>;
  readonly runtimeHandlers?: NonNullable<NodeStatus["runtimeHandlers"]>;
  /** What the runtime can do, such as strict supplemental groups. */
  readonly features?: NonNullable<NodeStatus["features"]>;
  /** Names of features that the control plane asks nodes about, in the words of Kubernetes' feature gates. */
  readonly declaredFeatures?: readonly string[];
  readonly volumesInUse?: readonly string[];
}

/** The conditions of a node that is well: those that the scheduler and others look for. */
export function healthyConditions(): ConditionFacts[] {
  return [
    condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "there is enough memory"),
    condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "there is enough disk space"),
    condition("PIDPressure", "False", "KubeletHasSufficientPID", "there are enough process ids"),
    condition("Ready", "True", "KubeletReady", "the node takes pods"),
  ];
}

/** Not ready, with the reasons. */
export function notReady(message: string): ConditionFacts {
  return condition("Ready", "False", "KubeletNotReady", message);
}

function condition(type: string, status: "True" | "False", reason: string, message: string): ConditionFacts {
  return { type, status, reason, message };
}
