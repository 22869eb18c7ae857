import { conditions } from "../conditions.ts";
import { virtualNodeTemplate } from "../fragments/virtual-node-template.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { labelName, object, reportedResources, siteId, string } from "../schema/index.ts";

export const VirtualNode = defineKind({
  kind: "VirtualNode",
  plural: "virtualnodes",
  shortNames: ["vno"],
  namespaced: false,
  purpose:
    "A contract as a Node of the consumer. The Node has the VirtualNode's name, the contract's amounts and the provider's properties.",
  writers: { spec: "the consumer's agent, from a Peering; or the owner", status: "the consumer's agent" },
  columns: [
    { name: "Contract", path: ".spec.contract", description: "The contract that it stands for." },
    conditionColumn("Ready", "Whether the provider can run pods."),
    reasonColumn("Ready", "Why it is ready or not."),
    { name: "CPU", path: ".status.allocated.cpu", description: "Processors taken by pods." },
    { name: "Memory", path: ".status.allocated.memory", description: "Memory taken by pods." },
    { name: "Provider", path: ".status.provider", wide: true, description: "Id of the provider." },
    { name: "Address", path: ".status.address", wide: true, description: "Where logs and exec are served." },
  ],
  spec: object({
    contract: labelName().describe(
      "Name of the Contract that the node stands for. Changes when the contract is renewed or resized.",
    ),
    ...virtualNodeTemplate,
  }).describe("What the Node is to be."),
  status: object({
    provider: siteId().optional().describe("Id of the site behind the node."),
    allocated: reportedResources().optional().describe("Amounts that pods on the node request."),
    address: string({ maxLength: 253 })
      .optional()
      .describe("Address in the Node's status, where the agent serves logs, exec and port-forward."),
    conditions: conditions({
      Ready: {
        meaning: "The provider can run pods, and the Node says Ready.",
        reasons: {
          ProviderReady: "It answers and the contract is in force.",
          ProviderUnreachable: "It has been silent for longer than unreachableAfter.",
          ContractMissing: "There is no Contract of that name.",
          ContractNotActive: "The contract has not begun, or is cordoned, drained or over.",
          NodeNameTaken: "A Node of that name exists and is not this VirtualNode's.",
        },
      },
    }),
  })
    .optional()
    .describe("What the agent knows."),
  rules: [
    {
      rule: "size(self.metadata.name) <= 63",
      message: "must have at most 63 characters: it is also the Node's kubernetes.io/hostname label",
      fieldPath: ".metadata.name",
    },
  ],
  example: { metadata: { name: "lively-wave" }, spec: { contract: "c-7f3kq2" } },
});
export type VirtualNode = ObjectOf<typeof VirtualNode>;
