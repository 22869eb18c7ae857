import { conditions } from "../conditions.ts";
import { namings } from "../fragments/naming.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { array, enumeration, object, siteId } from "../schema/index.ts";

export const AddressPlan = defineKind({
  kind: "AddressPlan",
  plural: "addressplans",
  shortNames: ["ap"],
  namespaced: false,
  purpose:
    "What this site and a peer call each other's pods. Each side chooses what it calls the other's ranges: the real ones, or others where these overlap with what it has itself. It has the peer's id as name.",
  writers: { spec: "the agent", status: "the agent" },
  columns: [
    { name: "Own", path: ".spec.own[*].range", description: "The own ranges." },
    { name: "Called", path: ".spec.own[*].called", description: "What the peer calls the first of them." },
    { name: "Peer", path: ".spec.peer[*].range", description: "The peer's ranges." },
    { name: "CalledHere", path: ".spec.peer[*].called", description: "What the first of them is called here." },
    conditionColumn("Ready", "Whether both know it."),
    { ...reasonColumn("Ready", "Why it is ready or not."), wide: true },
  ],
  spec: object({
    site: siteId().immutable("another peer has another AddressPlan").describe("Id of the peer."),
    carrier: enumeration({
      Proxy:
        "the agents carry connections between pods that are processes of their machines: what a range is called stands in for it.",
    })
      .optional()
      .describe("What carries between the two where it is not a Link."),
    own: namings({
      range: "A range of this site's pods.",
      called: "What the peer calls it, by the peer's word. Absent until it has said so.",
    }).describe("This site's ranges."),
    peer: namings({
      range: "A range of the peer's pods, by its word.",
      called: "What it is called here. Absent where no range of that size is left.",
    }).describe("The peer's ranges. What they are called is kept as long as it overlaps with nothing."),
    introducedBy: array(siteId(), { maxItems: 64, set: true })
      .optional()
      .describe(
        "Ids of consumers that have guests here and at the peer, and have introduced the two to each other, so that these meet.",
      ),
    scope: enumeration({ Guests: "guests of the consumers that have introduced the two, and nothing else." })
      .optional()
      .describe("Whom it is for, where the two have no link of their own."),
    others: array(
      object({
        site: siteId().describe("Id of the other peer."),
        names: namings({
          range: "A range of the other peer's pods.",
          called: "What this peer calls it, by this peer's word.",
        }).describe("Empty until it has said so."),
      }),
      { maxItems: 128, keys: ["site"] },
    )
      .optional()
      .describe("Other peers that this one is introduced to, as a namespace is offloaded to both."),
  }).describe("Who calls whom what."),
  status: object({
    conditions: conditions({
      Ready: {
        meaning: "All ranges of both sides have names, and packets can be told where they belong.",
        reasons: {
          NamesKnown: "They have.",
          RangesUnknown:
            "This site does not know its own ranges: no Node tells any, and spec.network of its Site names none, that peers take.",
          AwaitingPeer: "The peer has not said yet what ranges it has, or what it calls this site's.",
          PoolExhausted: "No range of the needed size is left in the pool: spec.network.names of the own Site.",
          KeyTaken:
            "The peer names a key of WireGuard that another peer had before, or this site has: there is no link with it until it names another one.",
        },
      },
      LinkComplete: {
        meaning:
          "The Link with the peer has all that may meet over it. Absent until something was left out, as an object cannot be of any size.",
        reasons: {
          AllListed: "It has.",
          TooMany: "There are more addresses than one Link can hold; the message says whose are left out.",
        },
      },
      StandInsComplete: {
        meaning: "Where the agents carry: all endpoints of the peer have a stand-in here. Absent until some had none.",
        reasons: {
          AllHaveOne: "They have.",
          TooMany: "There are more than this site stands in for, and some are not reached.",
        },
      },
    }),
  })
    .optional()
    .describe("How far the two are."),
  rules: [
    {
      rule: "self.metadata.name == self.spec.site",
      message: "must be the same as metadata.name, so that a peer has one AddressPlan",
      fieldPath: ".spec.site",
    },
  ],
  example: {
    metadata: { name: "mzxw6ytboi2dcmrtgq2tmnzyhe" },
    spec: {
      site: "mzxw6ytboi2dcmrtgq2tmnzyhe",
      own: [{ range: "10.42.0.0/16", called: "10.42.0.0/16" }],
      peer: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
    },
  },
});
export type AddressPlan = ObjectOf<typeof AddressPlan>;
