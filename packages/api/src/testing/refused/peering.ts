import { Peering, VirtualNode } from "../../kinds/index.ts";
import { type Refusal, refuses, refusesChanges } from "./refusal.ts";
import { amounts, notAName, virtualNodes } from "./shared.ts";

const nodeName = (name: string | null) => ({ spec: { virtualNode: { name } } });
const nameStays = "cannot be changed: delete this Peering and make one with the other name";

export const refusedPeerings: readonly Refusal[] = [
  ...refuses(Peering, [
    ["no site", { spec: { site: null } }, "spec.site", "Required value"],
    [
      "a site that is no name",
      { spec: { site: "Lively Wave" } },
      "spec.site",
      "must be the name of an object: a-z, 0-9, '-' and '.', such as lively-wave",
    ],
    [
      "a hub that is no name",
      { spec: { via: "Lively Wave" } },
      "spec.via",
      "must be the name of an object: a-z, 0-9, '-' and '.', such as lively-wave",
    ],
    ["no amounts", { spec: { resources: null } }, "spec.resources", "Required value"],
    ...amounts("spec.resources"),
    ["a node name with a dot", nodeName("wave.1"), "spec.virtualNode.name", notAName],
    [
      "a name too long for a node, and no other",
      { metadata: { name: "a".repeat(64) } },
      "spec.virtualNode.name",
      "must be given where metadata.name is longer than the 63 characters that a virtual node's name may have",
    ],
    ...virtualNodes("spec.virtualNode"),
    ["words for a yes", { spec: { renew: "yes" } }, "spec.renew", "must be of type boolean"],
  ]),
  ...refusesChanges(Peering, { metadata: { name: "named" }, ...nodeName("wave-1") }, [
    [
      "another site",
      { spec: { site: "calm-fjell" } },
      "spec.site",
      "cannot be changed: delete this Peering and make one for the other site",
    ],
    ["another node name", nodeName("wave-2"), "spec.virtualNode.name", nameStays],
    ["no node name", nodeName(null), "spec.virtualNode.name", nameStays],
    ["no virtual node", { spec: { virtualNode: null } }, "spec.virtualNode.name", nameStays],
  ]),
  ...refusesChanges(Peering, { metadata: { name: "unnamed" } }, [
    ["a node name where the Peering's own was the node's", nodeName("wave-2"), "spec.virtualNode.name", nameStays],
  ]),
];

export const refusedVirtualNodes: readonly Refusal[] = refuses(VirtualNode, [
  ["no contract", { spec: { contract: null } }, "spec.contract", "Required value"],
  ["a contract that is no name", { spec: { contract: "c.7" } }, "spec.contract", notAName],
  [
    "a name that is no label",
    { metadata: { name: "a".repeat(64) } },
    "metadata.name",
    "must have at most 63 characters: it is also the Node's kubernetes.io/hostname label",
  ],
  ...virtualNodes("spec"),
]);
