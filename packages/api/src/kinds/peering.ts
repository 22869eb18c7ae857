import { conditions } from "../conditions.ts";
import { virtualNodeTemplate } from "../fragments/virtual-node-template.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { boolean, labelName, object, objectName, resources, siteId, time } from "../schema/index.ts";

/** CEL: what the virtual node of the Peering is called. */
const nodeName = (peering: string) =>
  `(has(${peering}.spec.virtualNode.name) ? ${peering}.spec.virtualNode.name : ${peering}.metadata.name)`;

export const Peering = defineKind({
  kind: "Peering",
  plural: "peerings",
  shortNames: ["peer"],
  namespaced: false,
  purpose:
    "The wish to use a slice of another site: the agent pairs, agrees on a contract, keeps it renewed and brings it to life as a virtual node.",
  writers: { spec: "the owner of the consumer; `fjord peer` on their behalf", status: "the consumer's agent" },
  columns: [
    { name: "Site", path: ".spec.site", description: "The Site that provides." },
    { name: "Contract", path: ".status.contract", description: "The contract in force." },
    { name: "Node", path: ".status.virtualNode", description: "The virtual node." },
    conditionColumn("Ready", "Whether pods can be placed."),
    reasonColumn("Ready", "Why it is ready or not."),
    { ...conditionColumn("Paired", "Whether the provider trusts this site."), wide: true },
    { ...conditionColumn("Agreed", "Whether a contract is in force."), wide: true },
    { ...conditionColumn("Realised", "Whether tenant and virtual node exist."), wide: true },
  ],
  spec: object({
    site: objectName()
      .immutable("delete this Peering and make one for the other site")
      .describe("Name of the Site that is to provide."),
    resources: resources({ minProperties: 1 }).describe(
      "Amounts wanted, by resource name. A change is asked for as a contract that supersedes the current one.",
    ),
    pairingSecret: objectName()
      .optional()
      .describe(
        "Name of a Secret in the agent's namespace whose key `token` holds the provider's pairing token. Needed until paired.",
      ),
    renew: boolean().default(true).describe("Whether to ask for a new contract before the current one ends."),
    askedAt: time()
      .optional()
      .describe(
        "When the owner last asked. Another time asks again, with the same amounts, where an owner has ended the contract or the provider has refused; `fjord peer` sets it then.",
      ),
    link: boolean()
      .default(false)
      .describe(
        "Whether pods of the two sites are to reach each other, see AddressPlan and Link. It needs `spec.network` of the own Site of both.",
      ),
    via: objectName()
      .optional()
      .describe(
        "With `link`: name of the Site whose gateway leads to the other one, where the gateways of the two cannot meet. Both need a link with it, and its owner says in `spec.network.relays` that these two may.",
      ),
    virtualNode: object({
      name: labelName()
        .optional()
        .describe("Name of the virtual node, for good. The Peering's own name where it is left out."),
      ...virtualNodeTemplate,
    })
      .default({})
      .describe("What the virtual node is to look like."),
  }).describe("What the owner wants."),
  status: object({
    siteId: siteId().optional().describe("Id of the provider, as proven when pairing."),
    contract: labelName().optional().describe("Name of the Contract in force."),
    virtualNode: labelName().optional().describe("Name of the VirtualNode, which is also the Node's."),
    conditions: conditions({
      Paired: {
        meaning: "The provider knows this site and lets it ask.",
        reasons: {
          Accepted: "The provider accepted the pairing token, or knew this site already.",
          SiteUnknown: "There is no Site of that name.",
          SiteUnreachable: "The provider does not answer.",
          SecretMissing: "The provider asks for a token, and pairingSecret names none that exists.",
          TokenInvalid: "The token cannot be read or is for another site.",
          TokenExpired: "The token is too old.",
          TokenUsed: "The token has been redeemed before.",
        },
      },
      Agreed: {
        meaning: "A contract is in force.",
        reasons: {
          ContractActive: "It is signed by both and has begun.",
          NotPaired: "There is nobody to ask yet.",
          Asking: "The provider has been asked.",
          NotSharing: "The provider shares nothing.",
          ConsumerRefused:
            "The provider does not accept this consumer, or has cordoned or drained all that it has there.",
          AmountRefused: "The provider does not give these amounts; the message says how much it would.",
          ContractEnded: "The contract is over and was not renewed.",
        },
      },
      Realised: {
        meaning: "The tenant at the provider and the virtual node here exist.",
        reasons: {
          NodeMade: "Both exist.",
          NotAgreed: "There is no contract to bring to life.",
          AwaitingTenant: "The provider is preparing the tenant.",
          NodeNameTaken: "A Node or VirtualNode of that name exists and is not this Peering's.",
        },
      },
      Ready: {
        meaning: "Pods can be placed on the virtual node.",
        reasons: {
          InService: "They can.",
          NotPaired: "See Paired.",
          NotAgreed: "See Agreed.",
          NotRealised: "See Realised.",
          SiteUnreachable: "The provider does not answer.",
          Ending: "The Peering is being deleted.",
        },
      },
    }),
  })
    .optional()
    .describe("What the agent knows."),
  rules: [
    {
      rule: "has(self.spec.virtualNode.name) || size(self.metadata.name) <= 63",
      message: "must be given where metadata.name is longer than the 63 characters that a virtual node's name may have",
      fieldPath: ".spec.virtualNode.name",
    },
    {
      rule: `${nodeName("self")} == ${nodeName("oldSelf")}`,
      message: "cannot be changed: delete this Peering and make one with the other name",
      fieldPath: ".spec.virtualNode.name",
    },
  ],
  example: {
    metadata: { name: "lively-wave" },
    spec: { site: "lively-wave", resources: { cpu: 4, memory: "8Gi" } },
  },
});
export type Peering = ObjectOf<typeof Peering>;
