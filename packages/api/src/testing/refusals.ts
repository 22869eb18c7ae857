import type { FjordKind } from "../kind.ts";
import {
  Contract,
  Offloading,
  OffloadingRule,
  Peering,
  ShadowPod,
  Site,
  TwinNamespace,
  VirtualNode,
} from "../kinds/index.ts";

/** A change to a kind's example that an API server must refuse, and the words that it must use. */
export interface Refusal {
  kind: FjordKind;
  what: string;
  /** A merge patch for the example. */
  change: object;
  /** The field that the refusal names. */
  field: string;
  words: string;
}

const otherSite = "abcdefghijklmnopqrstuvwxyz";
const notAnId = "must be a site id: 26 characters out of a-z and 2-7, as in status.id of a Site";
const notAName = "must be a name of at most 63 characters a-z, 0-9 and '-', such as shop-staging";
const notAQuantity = "must be a quantity that is not negative, such as 2, 500m or 4Gi";

function refusals(kind: FjordKind, list: [what: string, change: object, field: string, words: string][]): Refusal[] {
  return list.map(([what, change, field, words]) => ({ kind, what, change, field, words }));
}

const terms = (change: object) => ({ spec: { terms: change } });
const template = (change: object) => ({ spec: { template: change } });
const sharing = (change: object) => ({ spec: { sharing: change } });

/** Objects that cannot be made. */
export const refusedObjects: readonly Refusal[] = [
  ...refusals(Site, [
    ["an id in capitals", { spec: { id: otherSite.toUpperCase() } }, "spec.id", notAnId],
    ["an id that is too short", { spec: { id: "abc" } }, "spec.id", notAnId],
    ["an id that is too long", { spec: { id: `${otherSite}a` } }, "spec.id", "may not be more than 26 bytes"],
    ["an unknown tier", { spec: { tier: "fog" } }, "spec.tier", 'supported values: "cloud", "edge", "device"'],
    ["an empty name", { spec: { name: "" } }, "spec.name", "should be at least 1 chars long"],
    [
      "an endpoint without TLS",
      { spec: { endpoints: ["http://wave.example:7443"] } },
      "spec.endpoints[0]",
      "must be an https URL, such as https://site.example:7443",
    ],
    [
      "an endpoint that is no URL",
      { spec: { endpoints: ["wave.example:7443"] } },
      "spec.endpoints[0]",
      "must be an https URL, such as https://site.example:7443",
    ],
    [
      "too many endpoints",
      { spec: { endpoints: Array.from({ length: 9 }, (_, i) => `https://w${i}.example`) } },
      "spec.endpoints",
      "must have at most 8 items",
    ],
    [
      "half a position",
      { spec: { location: { latitude: 60.4 } } },
      "spec.location",
      "latitude and longitude belong together: give both or neither",
    ],
    [
      "a position beyond the pole",
      { spec: { location: { latitude: 91, longitude: 5 } } },
      "spec.location.latitude",
      "should be less than or equal to 90",
    ],
    ["a region that is no name", { spec: { location: { region: "EU West" } } }, "spec.location.region", notAName],
    [
      "a property that is no label value",
      { spec: { properties: { gpu: "yes, two" } } },
      "spec.properties[gpu]",
      "must be a label value",
    ],
    [
      "a property that is no label key",
      { spec: { properties: { "two words": "x" } } },
      "spec.properties",
      "every key must be a label key, such as gpu or example.com/gpu",
    ],
    ["sharing without amounts", sharing({ resources: null }), "spec.sharing.resources", "Required value"],
    [
      "sharing no amount",
      { spec: { sharing: { resources: { cpu: null, memory: null } } } },
      "spec.sharing.resources",
      "should have at least 1 properties",
    ],
    ["a negative number", sharing({ resources: { cpu: -1 } }), "spec.sharing.resources[cpu]", notAQuantity],
    ["a negative amount", sharing({ resources: { cpu: "-500m" } }), "spec.sharing.resources[cpu]", notAQuantity],
    ["an amount in words", sharing({ resources: { memory: "lots" } }), "spec.sharing.resources[memory]", notAQuantity],
    [
      "an amount with a wrong unit",
      sharing({ resources: { memory: "4GB" } }),
      "spec.sharing.resources[memory]",
      notAQuantity,
    ],
    [
      "a resource with a strange name",
      sharing({ resources: { "c p u": 1 } }),
      "spec.sharing.resources",
      "every resource must be named as Kubernetes names them, such as cpu or example.com/gpu",
    ],
    [
      "too many resources",
      sharing({ resources: Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`example.com/r${i}`, 1])) }),
      "spec.sharing.resources",
      "must have at most 12 items",
    ],
    [
      "a limit on what is not shared",
      sharing({ perConsumer: { "nvidia.com/gpu": 1 } }),
      "spec.sharing.perConsumer",
      "may limit only what resources shares: add the resource there, or take it out here",
    ],
    [
      "a list of consumers that nobody reads",
      sharing({ consumers: { sites: [otherSite] } }),
      "spec.sharing.consumers.sites",
      "is needed with accept: Listed, and has no meaning with accept: Paired",
    ],
    [
      "no list of consumers where one is needed",
      sharing({ consumers: { accept: "Listed" } }),
      "spec.sharing.consumers.sites",
      "is needed with accept: Listed, and has no meaning with accept: Paired",
    ],
    [
      "a consumer twice",
      sharing({ consumers: { accept: "Listed", sites: [otherSite, otherSite] } }),
      "spec.sharing.consumers.sites[1]",
      "Duplicate value",
    ],
    [
      "a lifetime without a unit",
      sharing({ contractLifetime: "3600" }),
      "spec.sharing.contractLifetime",
      "must be a duration of at least 10s, such as 90s or 1h30m",
    ],
    [
      "a lifetime in days",
      sharing({ contractLifetime: "2d" }),
      "spec.sharing.contractLifetime",
      "must be a duration of at least 10s, such as 90s or 1h30m",
    ],
    [
      "a lifetime that is too short",
      sharing({ contractLifetime: "9s" }),
      "spec.sharing.contractLifetime",
      "must be a duration of at least 10s, such as 90s or 1h30m",
    ],
    [
      "an unknown enforcement",
      sharing({ enforcement: "Hard" }),
      "spec.sharing.enforcement",
      'supported values: "None", "RequestsRequired", "LimitsEqualRequests"',
    ],
    [
      "a direction for a built-in kind",
      { spec: { reflection: [{ resource: "configmaps", direction: "Both" }] } },
      "spec.reflection[0].direction",
      "is fixed for built-in kinds: leave it out, or name a custom resource by its group",
    ],
    [
      "two rules for one kind",
      { spec: { reflection: [{ resource: "secrets" }, { resource: "secrets", policy: "Never" }] } },
      "spec.reflection[1]",
      "Duplicate value",
    ],
    [
      "a kind in the singular with a capital",
      { spec: { reflection: [{ resource: "ConfigMap" }] } },
      "spec.reflection[0].resource",
      "must be the plural name of a kind in lower case, such as configmaps",
    ],
  ]),
  ...refusals(Contract, [
    ["no terms", { spec: { terms: null } }, "spec.terms", "Required value"],
    ["another name than its id", terms({ id: "c-other" }), "spec.terms.id", "must be the same as metadata.name"],
    ["a consumer that is no id", terms({ consumer: "lively-wave" }), "spec.terms.consumer", notAnId],
    ["no provider", terms({ provider: null }), "spec.terms.provider", "Required value"],
    [
      "one site on both sides",
      terms({ consumer: otherSite, provider: otherSite }),
      "spec.terms.provider",
      "must be another site than the consumer",
    ],
    [
      "an end before the beginning",
      terms({ notAfter: "2029-12-31T23:59:59Z" }),
      "spec.terms.notAfter",
      "must be later than notBefore",
    ],
    [
      "a time without a zone",
      terms({ notAfter: "2030-01-02 00:00" }),
      "spec.terms.notAfter",
      "must be of type date-time",
    ],
    ["itself superseded", terms({ supersedes: "c-7f3kq2" }), "spec.terms.supersedes", "must be another contract"],
    ["an unknown standing", { spec: { standing: "Paused" } }, "spec.standing", "Unsupported value"],
  ]),
  ...refusals(Peering, [
    ["no site", { spec: { site: null } }, "spec.site", "Required value"],
    ["a site that is no name", { spec: { site: "Lively Wave" } }, "spec.site", "must be the name of an object"],
    ["no amounts", { spec: { resources: null } }, "spec.resources", "Required value"],
    [
      "a name too long for a node, and no other",
      { metadata: { name: "a".repeat(64) } },
      "spec.virtualNode.name",
      "must be given where metadata.name is longer than the 63 characters that a virtual node's name may have",
    ],
    [
      "no patience at all",
      { spec: { virtualNode: { unreachableAfter: "100ms" } } },
      "spec.virtualNode.unreachableAfter",
      "must be a duration of at least 500ms, such as 90s or 1h30m",
    ],
    ["words for a yes", { spec: { renew: "yes" } }, "spec.renew", "must be of type boolean"],
  ]),
  ...refusals(VirtualNode, [
    ["no contract", { spec: { contract: null } }, "spec.contract", "Required value"],
    [
      "a name that is no label",
      { metadata: { name: "a".repeat(64) } },
      "<nil>",
      "metadata.name must have at most 63 characters",
    ],
    [
      "a taint with an unknown effect",
      { spec: { taints: [{ key: "metered", effect: "NoWay" }] } },
      "spec.taints[0].effect",
      'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    [
      "a taint twice",
      {
        spec: {
          taints: [
            { key: "a", effect: "NoExecute" },
            { key: "a", effect: "NoExecute" },
          ],
        },
      },
      "spec.taints[1]",
      "Duplicate value",
    ],
    [
      "a patch that is no object",
      { spec: { podPatch: { spec: "x" } } },
      "spec.podPatch.spec",
      "must be of type object",
    ],
  ]),
  ...refusals(Offloading, [
    [
      "a second one in a namespace",
      { metadata: { name: "other" } },
      "<nil>",
      "metadata.name must be offloading: a namespace has one Offloading, and that is its name",
    ],
    [
      "Chosen without a name",
      { spec: { naming: { strategy: "Chosen" } } },
      "spec.naming.name",
      "is needed with strategy: Chosen, and has no meaning with the others",
    ],
    [
      "a name that is not used",
      { spec: { naming: { name: "shop-remote" } } },
      "spec.naming.name",
      "is needed with strategy: Chosen, and has no meaning with the others",
    ],
    ["a name that is none", { spec: { naming: { strategy: "Chosen", name: "Shop" } } }, "spec.naming.name", notAName],
    ["an unknown place", { spec: { pods: "Anywhere" } }, "spec.pods", 'supported values: "Local", "Remote", "Both"'],
    [
      "In without values",
      { spec: { sites: { matchExpressions: [{ key: "tier", operator: "In" }] } } },
      "spec.sites.matchExpressions[0]",
      "In and NotIn need at least one of values; Exists and DoesNotExist take none",
    ],
    [
      "Exists with values",
      { spec: { sites: { matchExpressions: [{ key: "tier", operator: "Exists", values: ["edge"] }] } } },
      "spec.sites.matchExpressions[0]",
      "In and NotIn need at least one of values; Exists and DoesNotExist take none",
    ],
    [
      "keeping pods for a while",
      { spec: { whenUnreachable: { action: "Keep", after: "5m" } } },
      "spec.whenUnreachable.after",
      "has no meaning with action: Keep",
    ],
  ]),
  ...refusals(OffloadingRule, [
    ["no selector", { spec: { namespaceSelector: null } }, "spec.namespaceSelector", "Required value"],
    [
      "one name for many namespaces",
      template({ naming: { strategy: "Chosen", name: "shop" } }),
      "spec.template.naming.strategy",
      "cannot be Chosen in a rule, since many namespaces would share one name: use Suffixed or Same",
    ],
  ]),
  ...refusals(TwinNamespace, [
    [
      "a name that another consumer could have",
      { metadata: { name: "shop" } },
      "<nil>",
      "metadata.name must be spec.consumer, a hyphen and spec.originNamespace, so that consumers never meet",
    ],
    ["a wanted name that is none", { spec: { wantedName: "-shop" } }, "spec.wantedName", notAName],
    ["a wanted name that is too long", { spec: { wantedName: "a".repeat(64) } }, "spec.wantedName", "63 bytes"],
  ]),
  ...refusals(ShadowPod, [
    ["no pod", { spec: { pod: null } }, "spec.pod", "Required value"],
    [
      "a pod without containers",
      { spec: { pod: { spec: { containers: [] } } } },
      "spec.pod.spec.containers",
      "at least 1 items",
    ],
    [
      "a node that the consumer chose",
      { spec: { pod: { spec: { nodeName: "node-1" } } } },
      "spec.pod.spec.nodeName",
      "must be left out: the provider chooses the node",
    ],
    ["an origin that is no uid", { spec: { originUid: "web 0" } }, "spec.originUid", "must be the uid of an object"],
    ["an unknown wish", { spec: { recreate: "Sometimes" } }, "spec.recreate", 'supported values: "Always", "Never"'],
  ]),
];

/** Changes that an existing example does not allow. */
export const refusedChanges: readonly Refusal[] = [
  ...refusals(Contract, [
    [
      "other amounts",
      terms({ resources: { cpu: 8 } }),
      "spec.terms",
      "cannot be changed: make a new contract whose supersedes names this one",
    ],
    [
      "a longer life",
      terms({ notAfter: "2031-01-01T00:00:00Z" }),
      "spec.terms",
      "cannot be changed: make a new contract whose supersedes names this one",
    ],
  ]),
  ...refusals(Peering, [
    [
      "another site",
      { spec: { site: "calm-fjell" } },
      "spec.site",
      "cannot be changed: delete this Peering and make one for the other site",
    ],
  ]),
  ...refusals(Offloading, [
    [
      "other names for the twins",
      { spec: { naming: { strategy: "Same" } } },
      "spec.naming",
      "cannot be changed: delete this Offloading, which removes the twins, and make another",
    ],
  ]),
  ...refusals(TwinNamespace, [
    [
      "another wanted name",
      { spec: { wantedName: "x" } },
      "spec.wantedName",
      "delete this TwinNamespace and make another",
    ],
  ]),
  ...refusals(ShadowPod, [
    ["another origin", { spec: { originUid: "5" } }, "spec.originUid", "another pod needs another ShadowPod"],
  ]),
];
