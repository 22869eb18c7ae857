import { conditions } from "../conditions.ts";
import { enforcement } from "../fragments/enforcement.ts";
import { defineKind, type ObjectOf } from "../kind.ts";
import {
  array,
  enumeration,
  formatted,
  integer,
  labelName,
  labels,
  object,
  reportedResources,
  resources,
  siteId,
  time,
} from "../schema/index.ts";

/** What either owner may want of a contract. */
const standings = {
  Open: "pods are served.",
  Cordoned: "running pods stay, new ones are refused.",
  Drained: "running pods are evicted too.",
  Ended: "the contract is cancelled (by the consumer) or revoked (by the provider) at once, for good.",
} as const;

// Open, since both sign all of it: a copy without what a later version added would no longer be what was signed.
const terms = object(
  {
    id: labelName().describe("Names the agreement on both sides: metadata.name is the same, and labels can carry it."),
    consumer: siteId().describe("Id of the site that uses."),
    provider: siteId().describe("Id of the site that gives."),
    resources: resources({ minProperties: 1 }).describe("Amounts promised, by resource name."),
    properties: labels({ maxProperties: 64 })
      .optional()
      .describe("Properties of the provider that are promised with them."),
    notBefore: time().describe("When it begins."),
    notAfter: time().describe("When it ends, unless it is ended before."),
    enforcement: enforcement().describe("What the consumer's pods must state."),
    supersedes: labelName()
      .optional()
      .describe("The contract that this one renews or resizes; that one ends when this one begins."),
  },
  { open: true },
)
  .rule("self.consumer != self.provider", "must be another site than the consumer", ".provider")
  .rule("self.notBefore < self.notAfter", "must be later than notBefore", ".notAfter")
  .rule("!has(self.supersedes) || self.supersedes != self.id", "must be another contract", ".supersedes");

export const Contract = defineKind({
  kind: "Contract",
  plural: "contracts",
  shortNames: ["ctr"],
  namespaced: false,
  purpose:
    "An agreement between two sites on a slice of the provider's resources, with a lifetime. Both sides hold a copy that both have signed.",
  writers: {
    spec: "both agents, by agreement (`terms`), and the owner of the site that holds the copy (`standing`)",
    status: "the agent of the site that holds the copy",
  },
  columns: [
    { name: "Side", path: ".status.side", description: "Whether this site gives or uses." },
    { name: "Phase", path: ".status.phase", description: "Where it stands in its life." },
    { name: "Standing", path: ".spec.standing", description: "What the owner of this side wants." },
    { name: "Until", path: ".spec.terms.notAfter", description: "When it ends." },
    { name: "CPU", path: ".spec.terms.resources.cpu", description: "Processors promised." },
    { name: "Memory", path: ".spec.terms.resources.memory", description: "Memory promised." },
    { name: "Consumer", path: ".spec.terms.consumer", wide: true, description: "Id of the site that uses." },
    { name: "Provider", path: ".spec.terms.provider", wide: true, description: "Id of the site that gives." },
  ],
  spec: object({
    terms: terms
      .immutable("make a new contract whose supersedes names this one")
      .describe("What was agreed. Both signatures are over the canonical JSON of this object."),
    standing: enumeration(standings)
      .default("Open")
      .describe(
        "What the owner of this side wants of the contract; it is no part of what is signed, and the other side is told.",
      )
      .rule(
        "oldSelf != 'Ended' || self == 'Ended'",
        "cannot leave Ended: an ended contract stays ended, make a new one",
      ),
    limit: resources()
      .optional()
      .describe(
        "On the provider: amounts that its owner is willing to give from now on, where they differ from the terms. The consumer is told, and asks for a contract that supersedes this one.",
      ),
  }).describe("What was agreed, and what the owner of this side wants."),
  status: object({
    side: enumeration({ Consumer: "it uses.", Provider: "it gives." }).optional().describe("What this site is in it."),
    phase: enumeration({
      Proposed: "not yet signed by both.",
      Active: "in force.",
      Expiring: "in force and soon to end.",
      Ended: "over.",
    })
      .optional()
      .describe("A summary of the conditions for printing."),
    signatures: array(
      object({
        site: siteId().describe("Id of the site that signed."),
        value: formatted({
          name: "signature",
          maxLength: 88,
          pattern: "^[A-Za-z0-9+/]{86}==$",
          words: "must be the base64 of an Ed25519 signature: 88 characters",
        }).describe("Its Ed25519 signature over the canonical JSON of spec.terms, in base64."),
      }),
      { maxItems: 2, keys: ["site"] },
    )
      .optional()
      .describe("Who has signed."),
    used: reportedResources().optional().describe("Amounts that admitted pods request, as the provider counts them."),
    peerStanding: enumeration(standings).optional().describe("What the owner of the other side wants, as it was told."),
    peerLimit: reportedResources()
      .optional()
      .describe(
        "On the consumer: what the provider is willing to give from now on, where that differs from the terms.",
      ),
    clockAhead: integer({ minimum: -31_536_000, maximum: 31_536_000 })
      .optional()
      .describe(
        "On the consumer: by how many seconds the provider's clock is ahead of this site's. The times of the terms are the provider's.",
      ),
    tenantNamespace: labelName()
      .optional()
      .describe("On the provider: the namespace that holds the consumer's service account and roles."),
    supersededBy: labelName().optional().describe("The contract that renewed or resized this one."),
    conditions: conditions({
      Signed: {
        meaning: "Both sites have signed.",
        reasons: {
          BothSigned: "Both signatures are there and valid.",
          AwaitingConsumer: "The consumer has not signed yet.",
          AwaitingProvider: "The provider has not signed yet.",
          SignatureInvalid: "A signature does not fit the terms and the site's key.",
        },
      },
      Active: {
        meaning: "Pods may use it.",
        reasons: {
          InForce: "Signed, begun, not ended.",
          NotSigned: "A signature is missing.",
          NotBegun: "notBefore is yet to come.",
          Cordoned: "One side takes no new pods.",
          Drained: "One side wants no pods.",
          Ended: "It is over.",
        },
      },
      Expiring: {
        meaning: "It ends soon.",
        reasons: {
          FarFromEnd: "Its end is not near.",
          RenewalPending: "A contract that supersedes it is being agreed.",
          RenewalRefused: "The provider does not renew it.",
          NotRenewed: "The consumer does not want it renewed.",
          ProviderUnreachable: "The provider cannot be asked.",
        },
      },
      Ended: {
        meaning: "It is over, and why.",
        reasons: {
          InForce: "It has not ended.",
          Expired: "notAfter has passed.",
          Cancelled: "The consumer ended it.",
          Revoked: "The provider ended it.",
          Superseded: "A newer contract has taken its place.",
          PeerRemoved: "The other site was removed by force.",
        },
      },
    }),
  })
    .optional()
    .describe("What the agent knows."),
  rules: [
    {
      rule: "self.metadata.name == self.spec.terms.id",
      message: "must be the same as metadata.name, which names the contract on both sides",
      fieldPath: ".spec.terms.id",
    },
  ],
  example: {
    metadata: { name: "c-7f3kq2" },
    spec: {
      terms: {
        id: "c-7f3kq2",
        consumer: "mzxw6ytboi2dcmrtgq2tmnzyhe",
        provider: "nbswy3dpeb3w64tmmq5dembrge",
        resources: { cpu: 4, memory: "8Gi", pods: 110 },
        notBefore: "2030-01-01T00:00:00Z",
        notAfter: "2030-01-02T00:00:00Z",
        enforcement: "None",
      },
    },
  },
});
export type Contract = ObjectOf<typeof Contract>;
