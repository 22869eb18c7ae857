import { conditions } from "../conditions.ts";
import { enforcement } from "../fragments/enforcement.ts";
import { location } from "../fragments/location.ts";
import { reflectionRules } from "../fragments/reflection.ts";
import { rulesHeeded } from "../fragments/rules-heeded.ts";
import { tier } from "../fragments/tier.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import {
  array,
  boolean,
  cidr,
  duration,
  endpoint,
  enumeration,
  formatted,
  hostAndPort,
  hostPattern,
  integer,
  labels,
  object,
  objectName,
  quantity,
  reportedResources,
  resources,
  siteId,
  string,
  time,
} from "../schema/index.ts";

/**
 * What a consumer may keep where the owner says nothing: 10,000 pods and their twins, and no more of a store than it can spare; some volumes, and
 * a few ways in from outside.
 */
export const keptObjects = {
  count: 20_000,
  bytes: "256Mi",
  namespaces: 256,
  storage: "100Gi",
  exposedServices: 16,
  exposedPorts: 64,
} as const;

const sharing = object({
  resources: resources({ minProperties: 1 }).describe(
    "Amounts that all contracts together may promise, by resource name.",
  ),
  perConsumer: resources()
    .optional()
    .describe(
      "Amounts that one consumer's contracts together may promise; a resource left out has no limit of its own.",
    ),
  consumers: object({
    accept: enumeration({
      Paired: "every peer whose Site has `mayConsume`.",
      Listed: "of these only the sites in `sites`.",
    })
      .default("Paired")
      .describe("Who may ask for a contract."),
    sites: array(siteId(), { maxItems: 1024, set: true })
      .optional()
      .describe("Ids of the sites that `Listed` accepts."),
  })
    .default({})
    .describe("Which consumers are given contracts.")
    .rule(
      "(self.accept == 'Listed') == has(self.sites)",
      "is needed with accept: Listed, and has no meaning with accept: Paired",
      ".sites",
    ),
  contractLifetime: duration({ minimum: "10s" })
    .default("24h")
    .describe("How long a contract lasts before it must be renewed."),
  enforcement: enforcement().default("None").describe("What pods must state, written into every contract."),
  objects: object({
    count: integer({ minimum: 1 })
      .default(keptObjects.count)
      .describe("Objects in its twin namespaces: shadow pods, and twins of whatever kind."),
    bytes: quantity()
      .default(keptObjects.bytes)
      .describe(
        "Bytes of these together. Half of them at most are of other kinds than ConfigMap and Secret: the agent holds copies of those.",
      ),
    namespaces: integer({ minimum: 1, maximum: 10_000 }).default(keptObjects.namespaces).describe("Twin namespaces."),
    storage: quantity()
      .default(keptObjects.storage)
      .describe("Bytes of the volumes that its claims, and its pods of their own, ask for together."),
    exposedServices: integer({ minimum: 0 })
      .default(keptObjects.exposedServices)
      .describe("Services of type NodePort or LoadBalancer."),
    exposedPorts: integer({ minimum: 0 })
      .default(keptObjects.exposedPorts)
      .describe("Ports of these Services together: each takes one of all nodes of the site."),
    ingressHosts: array(hostPattern(), { maxItems: 64, set: true })
      .optional()
      .describe(
        "Hosts that its Ingresses may have: names, `*.` and a name for whatever is below it, `*` for all, also without a host. Where it is left out, every name without a wildcard. Never one that an Ingress of somebody else here has.",
      ),
  })
    .default({})
    .describe("What one consumer may keep in this site's API, whatever its contracts."),
  drainPatience: duration({ minimum: "10s" })
    .default("10m")
    .describe(
      "How long disruption budgets of guests may hold up the drain of a node of this site, from when it was cordoned.",
    ),
}).rule(
  "!has(self.perConsumer) || self.perConsumer.all(name, name in self.resources)",
  "may limit only what resources shares: add the resource there, or take it out here",
  ".perConsumer",
);

const network = object({
  podRanges: array(cidr(), { maxItems: 16, set: true })
    .optional()
    .describe("Ranges that its pods have addresses of. Where it is left out, what its Nodes say in `spec.podCIDRs`."),
  names: array(cidr(), { maxItems: 16, set: true })
    .default(["240.0.0.0/5", "fd66:6a6f::/32"])
    .describe("Where names for peers' ranges are taken from that overlap with what this site has itself."),
  reserved: array(cidr(), { maxItems: 64, set: true })
    .optional()
    .describe("Ranges that no peer may have here, besides those of pods, Services and Nodes."),
  machines: array(cidr(), { maxItems: 64, set: true })
    .optional()
    .describe(
      "Ranges of machines that may reach this site's own pods at its providers, as a cluster's machines reach its pods: nodes, whose ports lead to Services, and those of the control plane, which call webhooks. They are all seen as one there, and nobody reaches them.",
    ),
  endpoints: array(hostAndPort(), { maxItems: 8 })
    .optional()
    .describe(
      "Where peers reach the gateway, over UDP. Where it is left out, `port` of the hosts in `spec.endpoints`; empty where it cannot be dialled.",
    ),
  port: integer({ minimum: 1, maximum: 65535 }).default(51820).describe("UDP port that the gateway listens on."),
  lanes: integer({ minimum: 1, maximum: 8 })
    .default(1)
    .describe(
      "How many WireGuard interfaces a link may consist of, side by side, for more bandwidth: `port` and the next ones. With a peer, as many are used as both have. Nodes that may carry links share them evenly.",
    ),
  mtu: integer({ minimum: 1280, maximum: 65455 })
    .default(1380)
    .describe("Largest packet that goes through a link. Where less gets to a peer, less is sent there."),
  relays: array(
    object({
      between: array(objectName(), { minItems: 2, maxItems: 2, set: true }).describe("Names of two Sites."),
    }),
    { maxItems: 64 },
  )
    .optional()
    .describe(
      "Peers that may reach each other through this site's gateway, which cannot read what it passes on. Without it nobody may, but for those that this site introduces to each other.",
    ),
  introductions: enumeration({
    Accept:
      "as provider it has links with other providers of a consumer, for that consumer's guests alone; as consumer it introduces its providers to each other, and leads them to each other where they cannot meet.",
    Refuse: "it does neither.",
  })
    .default("Accept")
    .describe("Whether guests of one consumer at different providers meet."),
});

const published = object({
  name: string({ maxLength: 63 }).optional().describe("The name that its owner gave it, such as lively-wave."),
  tier: tier().optional().describe("What sort of place it is."),
  location: location().optional().describe("Where it stands."),
  properties: labels({ maxProperties: 64 }).optional().describe("What else its owner says of it."),
  architectures: array(string({ maxLength: 32 }), { maxItems: 16, set: true })
    .optional()
    .describe("Processor architectures of its nodes, such as `arm64`."),
  operatingSystems: array(string({ maxLength: 32 }), { maxItems: 16, set: true })
    .optional()
    .describe("Operating systems of its nodes, such as `linux`."),
  loopbackRanges: array(string({ maxLength: 32 }), { maxItems: 16, set: true })
    .optional()
    .describe(
      "Where its pods have their addresses on loopback, if they are processes of its machine: `127.88.0.0/16`.",
    ),
  version: string({ maxLength: 64 }).optional().describe("Version of its Fjord agent."),
  kubernetesVersion: string({ maxLength: 64 }).optional().describe("Version of its Kubernetes API."),
});

export const Site = defineKind({
  kind: "Site",
  plural: "sites",
  shortNames: ["st"],
  namespaced: false,
  purpose:
    "One autonomous cluster with a Fjord agent: the own one, with what it shares, or another that this one knows of.",
  writers: {
    spec: "the owner of the cluster that holds the object; `fjord pair` on their behalf",
    status: "the agent of that cluster",
  },
  columns: [
    { name: "Role", path: ".status.role", description: "Self for the own site, Peer for another." },
    { name: "Tier", path: ".status.published.tier", description: "What sort of place it is." },
    { name: "Region", path: ".status.published.location.region", description: "Where it stands." },
    conditionColumn("Ready", "Whether it can be used."),
    reasonColumn("Ready", "Why it is ready or not."),
    { name: "Id", path: ".status.id", wide: true, description: "The id that it has proven." },
    { name: "Version", path: ".status.published.version", wide: true, description: "Version of its agent." },
  ],
  spec: object({
    id: siteId()
      .optional()
      .immutable("another id is another site, so make another Site")
      .describe("The id that the site must prove. Left out on the own site, whose agent knows it."),
    name: string({ minLength: 1, maxLength: 63 })
      .optional()
      .describe("A name for people, such as lively-wave. On the own site it is told to peers."),
    tier: tier().optional().describe("What sort of place the own site is."),
    endpoints: array(endpoint(), { maxItems: 8 })
      .optional()
      .describe(
        "Where its agent is reached, in order of preference. Empty where it cannot be dialled and dials out itself.",
      ),
    location: location().optional().describe("Where the own site stands."),
    properties: labels({ maxProperties: 64 })
      .optional()
      .describe("What else is to be known of the own site. Becomes labels of virtual nodes at consumers."),
    mayConsume: boolean()
      .default(false)
      .describe(
        "On a peer: whether it may ask this site for contracts. Pairing sets it at the site whose token was redeemed.",
      ),
    sharing: sharing
      .optional()
      .describe("On the own site: what it shares and with whom. Without it nothing is shared."),
    network: network
      .optional()
      .describe("On the own site: how its pods meet those of peers. Without it there are no links to other sites."),
    reflection: reflectionRules()
      .optional()
      .describe("On the own site: which objects of offloaded namespaces have twins, kind by kind."),
  })
    .default({})
    .describe("What the owner says."),
  status: object({
    id: siteId().optional().describe("The id that the site has proven."),
    publicKey: formatted({
      name: "public key",
      maxLength: 44,
      pattern: "^[A-Za-z0-9+/]{43}=$",
      words: "must be the base64 of an Ed25519 public key: 44 characters",
    })
      .optional()
      .describe("Its Ed25519 public key in base64, from which the id is derived."),
    role: enumeration({ Self: "the own site.", Peer: "another one." }).optional().describe("Whose site it is."),
    published: published.optional().describe("What the site says of itself."),
    agentNamespace: string({ maxLength: 63 })
      .optional()
      .describe(
        "On the own site: where its agent keeps its own objects, such as the Lease `fjord-agent` that shows that it runs.",
      ),
    reachableSince: time().optional().describe("Since when it has answered without a break."),
    shared: reportedResources().optional().describe("Amounts that it shares."),
    free: reportedResources().optional().describe("Amounts of these that no contract promises yet."),
    gateway: object({
      node: string({ maxLength: 253 }).describe("Name of its Node."),
      addresses: array(string({ maxLength: 39 }), { maxItems: 8 }).describe("By which the other nodes reach it."),
      endpoints: array(hostAndPort(), { maxItems: 8 })
        .optional()
        .describe("Where peers reach it: what they try before `spec.network.endpoints`."),
      lanes: array(
        object({
          lane: integer({ minimum: 0, maximum: 7 }).describe("Its number; 0 is the first."),
          node: string({ maxLength: 253 }).describe("Name of the Node that carries it."),
          addresses: array(string({ maxLength: 39 }), { maxItems: 8 }).describe("By which the other nodes reach that."),
          endpoints: array(hostAndPort(), { maxItems: 8 }).optional().describe("Where peers reach it."),
        }),
        { maxItems: 8, keys: ["lane"] },
      )
        .optional()
        .describe("Who carries which, where links have several lanes; each by the node that does."),
    })
      .optional()
      .describe(
        "On the own site: the node that carries its links, where several may, or of several lanes the first one; by that node.",
      ),
    conditions: conditions({
      Ready: {
        meaning: "The site can be used.",
        reasons: {
          Serving: "The own site's agent runs.",
          Starting: "The own site's agent is starting.",
          Reachable: "The peer answers and has proven its id.",
          Unreachable: "The peer does not answer.",
          NoEndpoint:
            "The peer has no endpoint, and has not dialled out to this site. One that only uses this site need not: it reaches out by itself.",
          NotPaired: "The peer answers that it does not know this site: pair them again.",
          IdentityMismatch: "What answered has proven another id than spec.id.",
          VersionUnsupported: "The peer's agent is too old or too new to talk to.",
        },
      },
      Reachable: {
        meaning: "The peer's agent answers.",
        reasons: {
          Dialled: "One of its endpoints answers.",
          Tunnelled: "It has dialled out to this site and is served through that connection.",
          NoEndpoint: "It has no endpoint and has not dialled out.",
          ConnectionFailed: "No endpoint took a connection.",
          TimedOut: "It took a connection and then fell silent.",
          NotPaired:
            "It answers that it does not know this site. After a minute of that its contracts count as revoked.",
          WrongKey: "The key that was shown does not give the expected id.",
          Self: "It is the own site.",
        },
      },
      Cordoned: {
        meaning:
          "On a peer that consumes: the owner of this site has closed all its contracts, or those that it had last, and it is given no other.",
        reasons: {
          ContractsClosed: "They were closed by `fjord cordon` or `fjord drain`, and `fjord uncordon` opens them.",
          ContractsOpen: "They were closed, and no longer are.",
        },
      },
      RulesHeeded: rulesHeeded,
    }),
  })
    .optional()
    .describe("What the agent knows."),
  example: {
    metadata: { name: "lively-wave" },
    spec: {
      tier: "edge",
      endpoints: ["https://wave.example:7443"],
      sharing: { resources: { cpu: 8, memory: "16Gi" } },
    },
  },
});
export type Site = ObjectOf<typeof Site>;
