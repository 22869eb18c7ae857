import { type Contract, VIRTUAL_NODE, type VirtualNode } from "@fjord/api";
import type { Node } from "@fjord/kube";
import type { ConditionFacts, NodeFacts, NodeIdentity, Taint } from "@fjord/node/registration";
import { amountsOf, atMost, formatAmounts } from "../../market/index.ts";
import type { PublishedFacts } from "../../protocol.ts";
import { notesOf } from "./given-labels.ts";
import { forgeLabels, onlyOne } from "./node-labels.ts";
import type { Readiness } from "./readiness.ts";

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
  /** Names of the resources that the Node has now. */
  readonly knownResources: readonly string[];
}

/** Before the provider's id and the node's name. */
const PROVIDER_ID = "fjord://";

/** What a Node has from its first moment. */
export function forgeIdentity({ virtualNode, contract, published }: NodeInputs): NodeIdentity {
  const name = virtualNode.metadata.name ?? "";
  const { own, published: said } = forgeLabels(virtualNode, contract, published);
  const labels = { ...said, ...own };
  return {
    name,
    labels,
    annotations: notesOf(labels),
    taints: forgeTaints(virtualNode),
    ...(contract && { providerID: `${PROVIDER_ID}${contract.spec.terms.provider}/${name}` }),
  };
}

/** Whether a Node is a virtual one. Its labels are anybody's to take away, and its `providerID` nobody's. */
export function isVirtual({ metadata, spec }: Node): boolean {
  return metadata.labels?.[VIRTUAL_NODE] === "true" || spec?.providerID?.startsWith(PROVIDER_ID) === true;
}

/** The taint of virtual nodes, unless the owner does without, and those that the owner wants. */
export function forgeTaints({ spec }: VirtualNode): Taint[] {
  const others = (spec.taints ?? []).filter(({ key, effect }) => key !== VIRTUAL_NODE || effect !== "NoSchedule");
  const own: Taint[] = spec.tainted ? [{ key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" }] : [];
  return [...own, ...(others as Taint[])];
}

/** What the Node's status says. */
export function forgeFacts(inputs: NodeInputs): NodeFacts {
  const { contract, address, kubeletPort, kubeletVersion, published, readiness, virtualNode } = inputs;
  const provider = contract?.spec.terms.provider ?? "";
  const gone = Object.fromEntries(inputs.knownResources.map((name) => [name, "0"]));
  return {
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: virtualNode.metadata.name ?? "" },
    ],
    capacity: { ...gone, ...amounts(contract, false) },
    allocatable: { ...gone, ...amounts(contract, true) },
    conditions: nodeConditions(readiness),
    nodeInfo: {
      architecture: onlyOne(published?.architectures) ?? "",
      operatingSystem: onlyOne(published?.operatingSystems) ?? "linux",
      kubeletVersion,
      kubeProxyVersion: "",
      bootID: "",
      containerRuntimeVersion: "fjord://",
      kernelVersion: "",
      machineID: provider,
      osImage: `Fjord site ${published?.name ?? provider}`,
      systemUUID: "",
    },
    kubeletPort,
  };
}

/** What Kubernetes takes as a node's ordinary number of pods. */
const PODS = "110";

/** What was agreed; of it can be used what the provider is still willing to give. */
function amounts(contract: Contract | undefined, usable: boolean): Record<string, string> {
  const agreed = amountsOf({ pods: PODS, ...contract?.spec.terms.resources });
  const limit = usable ? contract?.status?.peerLimit : undefined;
  return formatAmounts(limit === undefined ? agreed : atMost(agreed, amountsOf(limit)));
}

function nodeConditions({ status, reason, message }: Readiness): ConditionFacts[] {
  const pressure = (type: string): ConditionFacts =>
    status === "Unknown"
      ? { type, status, reason, message }
      : { type, status: "False", reason: "KubeletHasNoPressure", message: "the provider keeps what was agreed" };
  return [
    pressure("MemoryPressure"),
    pressure("DiskPressure"),
    pressure("PIDPressure"),
    { type: "Ready", status, reason: status === "True" ? "KubeletReady" : reason, message },
  ];
}
