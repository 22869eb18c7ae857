import { conditions } from "../conditions.ts";
import { address, addressOrRange, namings } from "../fragments/naming.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { array, boolean, enumeration, integer, object, siteId, string, time } from "../schema/index.ts";

const key = () => string({ maxLength: 44, pattern: "^[A-Za-z0-9+/]{43}=$" });
const hostAndPort = () => string({ maxLength: 262, pattern: "^(\\[[0-9a-f.:]+\\]|[^\\s:\\[\\]/]+):[1-9][0-9]{0,4}$" });

export const Link = defineKind({
  kind: "Link",
  plural: "links",
  shortNames: ["ln"],
  namespaced: false,
  purpose:
    "The encrypted path to a peer, and all that may take it: what is not listed is dropped, at both ends. It has the peer's id as name.",
  writers: { spec: "the agent", status: "the gateway, which is the node that has the path" },
  columns: [
    conditionColumn("Ready", "Whether the peer answers on it."),
    reasonColumn("Ready", "Why it is ready or not."),
    { name: "Handshake", path: ".status.handshakeAt", description: "When the two last agreed on a key." },
    {
      name: "Latency",
      path: ".status.latencyMicroseconds",
      type: "integer",
      wide: true,
      description: "There and back, in microseconds.",
    },
    { name: "Way", path: ".status.way", wide: true, description: "How the peer is met." },
    {
      name: "Endpoint",
      path: ".status.endpoint",
      wide: true,
      description: "Where the peer is, where the two gateways meet.",
    },
    { name: "Carrier", path: ".status.carrier", wide: true, description: "What encrypts." },
  ],
  spec: object({
    site: siteId().immutable("another peer has another Link").describe("Id of the peer."),
    publicKey: key().describe("The peer's WireGuard key, by its word."),
    nextKey: key()
      .optional()
      .describe("The key that the peer is about to use in its place. Both gateways say to each other when that is."),
    endpoints: array(hostAndPort(), { maxItems: 8 }).describe(
      "Where the peer listens, host and port. Empty where it cannot be dialled, and dials itself.",
    ),
    lanes: array(
      object({
        endpoints: array(hostAndPort(), { maxItems: 8 }).describe("Where the peer listens for it."),
      }),
      { maxItems: 7 },
    )
      .optional()
      .describe("The lanes beside the first one, where both sites have several."),
    via: siteId()
      .optional()
      .describe(
        "Id of the peer whose gateway leads to this one, where the two cannot meet: it passes on what it cannot read. `endpoints` is then known to that gateway alone.",
      ),
    fallback: object({
      site: siteId().describe("Id of the peer whose gateway leads there."),
      endpoint: hostAndPort().describe("What the gateway of the two is known by to that one alone."),
      seenAt: hostAndPort()
        .optional()
        .describe(
          "Where that gateway hears of the peer. Where both are behind NATs, both send there at the same moment, which opens the NATs.",
        ),
    })
      .optional()
      .describe(
        "The way that is taken while the two cannot meet, where a third site that both have links with leads them to each other. The gateway chooses.",
      ),
    relayTo: array(siteId(), { maxItems: 128, set: true })
      .optional()
      .describe(
        "Ids of other peers that this one may reach through here, besides those that the own Site names: both have guests of one namespace of this site.",
      ),
    tcp: object({
      endpoint: hostAndPort().describe("Address and UDP port of the agent, for the gateway alone."),
    })
      .optional()
      .describe(
        "Where the own agent takes WireGuard's packets to carry them over its connection with the peer's agent: the way that is taken where UDP does not pass. The gateway chooses.",
      ),
    keepaliveSeconds: integer({ minimum: 1, maximum: 65535 })
      .optional()
      .describe("How often something is sent when there is nothing to say, where this site cannot be dialled."),
    groups: array(
      object({
        name: string({ maxLength: 127 }).describe(
          "The namespace whose pods these are; `fjord.dev/exports` and `fjord.dev/imports/NAMESPACE` for what Exports and Imports open.",
        ),
        local: array(addressOrRange(), { maxItems: 8192 }).describe("Addresses and ranges of this site."),
        remote: array(addressOrRange(), { maxItems: 8192 }).describe(
          "Addresses and ranges of the peer, as called here.",
        ),
      }),
      { maxItems: 1024, keys: ["name"] },
    ).describe("Who may talk: every local address of a group with every remote one of it, whoever begins."),
    machines: array(addressOrRange(), { maxItems: 64, set: true })
      .optional()
      .describe("Machines of this site that the peer sees as one, which is in the group `fjord.dev/machines`."),
    guests: object({
      addresses: array(address(), { maxItems: 8192, set: true }).describe("Addresses of the peer's guests here."),
      names: namings(
        {
          range: "A range as it is called here.",
          called: "What the peer calls it. It means nothing else here.",
        },
        288,
      ).describe("What the peer calls otherwise than this site."),
    })
      .optional()
      .describe("Whom nodes lead to addresses by what the peer calls these, and to which: its own guests alone."),
  }).describe("What the gateway is to bring about."),
  status: object({
    carrier: enumeration({
      Kernel: "WireGuard of the kernel.",
      Userspace: "a process, where the kernel has none.",
    })
      .optional()
      .describe("What encrypts."),
    way: enumeration({
      Direct: "the two gateways meet.",
      Hub: "through the gateway of `via`, which passes on what it cannot read.",
      TCP: "in the connection of the two agents, as UDP does not pass.",
    })
      .optional()
      .describe("How the peer was last heard."),
    via: siteId()
      .optional()
      .describe("Id of the site through which the peer was last heard; absent where it was met directly."),
    endpoint: hostAndPort()
      .optional()
      .describe("Where the peer was last heard; absent where it is not met directly (`way`, `via`)."),
    tcpSource: string({ maxLength: 39 })
      .optional()
      .describe("The address from which the gateway sends to `spec.tcp`: the agent takes packets from nobody else."),
    ownKey: key().optional().describe("This site's own WireGuard key that the gateway uses."),
    nextKey: key()
      .optional()
      .describe(
        "The one that the gateway is about to use, once peers that answer have heard of it. They are told by the agent as soon as it stands here.",
      ),
    handshakeAt: time().optional().describe("When the two last agreed on a key."),
    receivedBytes: integer({ minimum: 0 }).optional().describe("Bytes that came."),
    sentBytes: integer({ minimum: 0 }).optional().describe("Bytes that went."),
    receivedPerSecond: integer({ minimum: 0 })
      .optional()
      .describe("Bytes that came in a second, since the status was last written."),
    sentPerSecond: integer({ minimum: 0 })
      .optional()
      .describe("Bytes that went in a second, since the status was last written."),
    latencyMicroseconds: integer({ minimum: 0 })
      .optional()
      .describe(
        "To the peer's gateway and back, by probes over the link: the median of the last 20. Absent until the peer answers.",
      ),
    lossPercent: integer({ minimum: 0, maximum: 100 }).optional().describe("Of the last 20 probes."),
    mtu: integer({ minimum: 0 })
      .optional()
      .describe("The largest packet that came back from the peer's gateway, in bytes."),
    lanes: array(
      object({
        lane: integer({ minimum: 0, maximum: 7 }).describe("Its number; 0 is the first."),
        node: string({ maxLength: 253 }).optional().describe("The node that carries it, where several may."),
        endpoint: hostAndPort().optional().describe("Where the peer was last heard on it."),
        handshakeAt: time().optional().describe("When the two last agreed on a key for it."),
        receivedBytes: integer({ minimum: 0 }).optional().describe("Bytes that came by it."),
        sentBytes: integer({ minimum: 0 }).optional().describe("Bytes that went by it."),
        silent: boolean()
          .optional()
          .describe("Whether the peer does not answer on it: what would take it takes another one."),
      }),
      { maxItems: 8, keys: ["lane"] },
    )
      .optional()
      .describe("How its lanes are, where there are several; each by the node that carries it."),
    conditions: conditions({
      Ready: {
        meaning: "The peer answers on the link.",
        reasons: {
          HandshakeSeen: "The two have agreed on a key lately.",
          NoHandshake: "They have not, for longer than a key lasts.",
          Silent:
            "The peer's gateway has answered over the link before, and has not for two seconds: pods behind the link are not ready to be asked, and leave Services, until it has answered again for a second.",
          NotApplied: "The gateway could not bring about what spec says; the message says why.",
        },
      },
    }),
  })
    .optional()
    .describe("What the gateway sees."),
  rules: [
    {
      rule: "self.metadata.name == self.spec.site",
      message: "must be the same as metadata.name, so that a peer has one Link",
      fieldPath: ".spec.site",
    },
  ],
  example: {
    metadata: { name: "mzxw6ytboi2dcmrtgq2tmnzyhe" },
    spec: {
      site: "mzxw6ytboi2dcmrtgq2tmnzyhe",
      publicKey: "3Qk0xg6E1ubSvyPLl1ZTCB1Ygt1iVx5Tw9o0m7FC0Wk=",
      endpoints: ["wave.example:51820"],
      groups: [{ name: "shop", local: ["10.42.0.7"], remote: ["240.0.3.9", "240.0.3.10"] }],
    },
  },
});
export type Link = ObjectOf<typeof Link>;
