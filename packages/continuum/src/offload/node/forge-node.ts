import { type Contract, PROPERTY_PREFIX, SITE_LABEL, TIER_LABEL, VIRTUAL_NODE, type VirtualNode } from "@fjord/api";
import type { ConditionFacts, NodeFacts, NodeIdentity, Taint } from "@fjord/node/registration";
import type { PublishedFacts } from "../../peering/protocol.ts";
import type { Reachability } from "../../peering/remote-site.ts";

export interface NodeInputs {
  readonly virtualNode: VirtualNode;
  readonly contract: Contract | undefined;
  /** What the provider says of itself: checked when it came in. */
  readonly published: PublishedFacts | undefined;
  /** Where the own API server reaches the kubelet API. */
  readonly address: string;
  readonly kubeletPort: number;
  readonly kubeletVersion: string;
  readonly readiness: Readiness;
}

/** Whether the node can run pods, in the words of the VirtualNode's Ready condition. */
export interface Readiness {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: "ProviderReady" | "ProviderUnreachable" | "ContractMissing" | "ContractNotActive";
  readonly message: string;
  /** When it may become another by time alone: milliseconds from now. */
  readonly againInMs?: number;
}

/** Says whether a provider counts as lost: only when it has been silent for longer than the owner allows. */
export function readinessOf(
  contract: Contract | undefined,
  reachability: Reachability | undefined,
  unreachableAfterMs: number,
  now: number,
): Readiness {
  if (contract === undefined) {
    return { status: "False", reason: "ContractMissing", message: "there is no contract for this node" };
  }
  const ended = contract.status?.conditions?.find(({ type, status }) => type === "Ended" && status === "True");
  if (ended !== undefined) {
    return {
      status: "False",
      reason: "ContractNotActive",
      message: `contract ${contract.metadata.name} has ended: ${ended.message || ended.reason}`,
    };
  }
  if (contract.status?.phase === "Proposed") {
    return {
      status: "False",
      reason: "ContractNotActive",
      message: `contract ${contract.metadata.name} is not in force yet`,
    };
  }
  if (reachability === undefined) {
    return { status: "Unknown", reason: "ProviderUnreachable", message: "the provider's Site is not known here" };
  }
  const ready = { status: "True", reason: "ProviderReady", message: "the provider answers" } as const;
  if (reachability.reachable) return ready;
  const silentFor = now - (reachability.lastHeard ?? Number.NEGATIVE_INFINITY);
  if (silentFor < unreachableAfterMs) return { ...ready, againInMs: unreachableAfterMs - silentFor };
  return { status: "Unknown", reason: "ProviderUnreachable", message: reachability.message };
}

/** Labels, taints and annotations of the Node. */
export function forgeIdentity({ virtualNode, contract, published }: NodeInputs): NodeIdentity {
  const name = virtualNode.metadata.name ?? "";
  return {
    name,
    labels: forgeLabels(virtualNode, contract, published),
    taints: [
      { key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" },
      ...((virtualNode.spec.taints ?? []) as Taint[]),
    ],
    ...(contract && { providerID: `fjord://${contract.spec.terms.provider}/${name}` }),
  };
}

function forgeLabels(
  virtualNode: VirtualNode,
  contract: Contract | undefined,
  published: PublishedFacts | undefined,
): Record<string, string> {
  const name = virtualNode.metadata.name ?? "";
  const { architectures = [], operatingSystems = [], location, tier, properties = {} } = published ?? {};
  const arch = onlyOne(architectures);
  const os = onlyOne(operatingSystems) ?? "linux";
  return {
    ...Object.fromEntries(Object.entries(properties).map(([key, value]) => [propertyLabel(key), value])),
    ...virtualNode.spec.labels,
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": os,
    ...(arch !== undefined && { "kubernetes.io/arch": arch }),
    ...(location?.region !== undefined && { "topology.kubernetes.io/region": location.region }),
    ...(location?.zone !== undefined && { "topology.kubernetes.io/zone": location.zone }),
    ...(tier !== undefined && { [TIER_LABEL]: tier }),
    ...(contract && { [SITE_LABEL]: contract.spec.terms.provider }),
    [VIRTUAL_NODE]: "true",
    // Load balancers of clouds must not send traffic to a machine that is none.
    "node.kubernetes.io/exclude-from-external-load-balancers": "true",
  };
}

/** A label that says one thing cannot say two: a site of mixed architectures has none, and pods choose by other labels. */
function onlyOne(values: readonly string[]): string | undefined {
  return new Set(values).size === 1 ? values[0] : undefined;
}

/** A provider may describe itself, but not as Kubernetes or Fjord would: those names decide where pods go. */
function propertyLabel(key: string): string {
  const prefix = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  const reserved = /(^|\.)(kubernetes\.io|k8s\.io|fjord\.dev)$/.test(prefix);
  if (prefix === "") return `${PROPERTY_PREFIX}${key}`;
  return reserved ? `${PROPERTY_PREFIX}${key.slice(key.indexOf("/") + 1)}` : key;
}

const SPACE = 1024;

/** What the Node's status says. */
export function forgeFacts(inputs: NodeInputs): NodeFacts {
  const { contract, address, kubeletPort, kubeletVersion, published, readiness } = inputs;
  const amounts = Object.fromEntries(
    Object.entries(contract?.spec.terms.resources ?? {}).map(([name, amount]) => [name, String(amount)]),
  );
  const capacity = { pods: "110", ...amounts };
  const arch = onlyOne(published?.architectures ?? []) ?? "";
  return {
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: inputs.virtualNode.metadata.name ?? "" },
    ],
    capacity,
    allocatable: capacity,
    conditions: nodeConditions(readiness),
    nodeInfo: {
      architecture: arch,
      operatingSystem: onlyOne(published?.operatingSystems ?? []) ?? "linux",
      kubeletVersion,
      kubeProxyVersion: "",
      bootID: "",
      containerRuntimeVersion: "fjord://",
      kernelVersion: "",
      machineID: contract?.spec.terms.provider ?? "",
      osImage: `Fjord site ${(published?.name ?? contract?.spec.terms.provider ?? "").slice(0, SPACE)}`,
      systemUUID: "",
    },
    kubeletPort,
  };
}

function nodeConditions({ status, reason, message }: Readiness): ConditionFacts[] {
  const fine = (type: string): ConditionFacts => ({
    type,
    status: status === "Unknown" ? "Unknown" : "False",
    reason: status === "Unknown" ? reason : "KubeletHasNoPressure",
    message: status === "Unknown" ? message : "the provider keeps what the contract promises",
  });
  return [
    fine("MemoryPressure"),
    fine("DiskPressure"),
    fine("PIDPressure"),
    { type: "Ready", status, reason: status === "True" ? "KubeletReady" : reason, message },
  ];
}
