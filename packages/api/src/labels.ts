/** Labels, annotations, taints, finalizers and names that sites agree on. */

/** On a twin namespace and on everything that Fjord makes in it: the id of the consumer whose it is. */
export const CONSUMER_LABEL = "fjord.dev/consumer";
/** On a twin namespace and on twins: name of the consumer's namespace. */
export const ORIGIN_NAMESPACE_LABEL = "fjord.dev/origin-namespace";
/** On the provider's pod: uid of the consumer's pod, so that a pod made again under its name is told from the first. */
export const ORIGIN_UID_LABEL = "fjord.dev/origin-uid";
/** On a twin (reflected object): which domain made it, so that nothing else is ever touched. Value `reflect`. */
export const MANAGED_LABEL = "fjord.dev/managed-by";
/** On a virtual node: id of the site behind it. */
export const SITE_LABEL = "fjord.dev/site";
/** On a virtual node: the tier of the site behind it. On the node of `fjord micro`: of its own site. */
export const TIER_LABEL = "fjord.dev/tier";
/** On virtual nodes (value `true`), and the key of the taint that all of them carry (NoSchedule). */
export const VIRTUAL_NODE = "fjord.dev/virtual-node";
/**
 * Key of the taint (NoSchedule) of a virtual node that is to be empty: it is ending, or a side has drained its contract. Cordons do not
 * keep pods of DaemonSets away, which tolerate them by themselves.
 */
export const DRAINED_TAINT = "fjord.dev/drained";
/** Prefix of labels on virtual nodes that come from the provider's properties, where a property has no prefix of its own. */
export const PROPERTY_PREFIX = "property.fjord.dev/";
/** On a namespace of the consumer that has an Offloading: the admission webhook looks at its pods. Value `true`. */
export const OFFLOADED_LABEL = "fjord.dev/offloaded";
/** On an Offloading that an OffloadingRule made: which one. Without it the Offloading is its namespace's own. */
export const OFFLOADING_RULE_LABEL = "fjord.dev/offloading-rule";
/** On the Service and the EndpointSlices that an Import has: its name. */
export const IMPORT_LABEL = "fjord.dev/import";
/**
 * On an EndpointSlice of an Import of what the site itself exports: `ADDRESS:PORT` of what stands for it on links, by which guests elsewhere are
 * led to it.
 */
export const EXPORTED_ANNOTATION = "fjord.dev/exported";
/** On an object of an offloaded namespace: `true` or `false`, see the reflection rules. */
export const REFLECT_ANNOTATION = "fjord.dev/reflect";
/** On a consumer's pod: `true` gives it its service account's token for the home API. */
export const HOME_API_ANNOTATION = "fjord.dev/home-api";
/** On a ShadowPod that is to be deleted with another grace period than the pod's own: seconds. */
export const GRACE_ANNOTATION = "fjord.dev/grace-seconds";
/** On a Peering, Site or VirtualNode that is to go without waiting for the other side (`fjord unpeer --force`). Value `true`. */
export const FORCE_REMOVE_ANNOTATION = "fjord.dev/force-remove";
/** On a provider's pod: what the consumer's pod sees of itself through the downward API. */
export const ORIGIN_NAMESPACE_ANNOTATION = "fjord.dev/origin-namespace";

/** Where the agent keeps its own objects unless it is told otherwise. */
export const AGENT_NAMESPACE = "fjord-system";
/** The Lease in that namespace that the agent renews for as long as it lives. */
export const AGENT_LEASE = "fjord-agent";
/** The one Offloading of a namespace. */
export const OFFLOADING_NAME = "offloading";

/** The provider's namespace that holds a consumer's service account, roles and TwinNamespaces. */
export function tenantNamespace(consumerId: string): string {
  return `fjord-tenant-${consumerId}`;
}

/** The service account, in the tenant namespace, that the proxy acts as for the consumer. */
export const TENANT_SERVICE_ACCOUNT = "consumer";

/** On a Secret in the agent's namespace whose `token` the agent is to redeem. Value `true`. */
export const REDEEM_LABEL = "fjord.dev/redeem";
/** On such a Secret: `true` lets the issuer use this site too. */
export const BOTH_WAYS_ANNOTATION = "fjord.dev/both-ways";
/** On such a Secret: what the issuer's Site is to be called here. */
export const SITE_NAME_ANNOTATION = "fjord.dev/site-name";
/** On such a Secret, by the agent: name of the issuer's Site, once the token was redeemed. */
export const REDEEMED_ANNOTATION = "fjord.dev/redeemed";
/** On such a Secret, by the agent: why the token was not redeemed. */
export const REFUSED_ANNOTATION = "fjord.dev/refused";
/** On such a Secret, by the agent: what went wrong when it last tried, and will be tried again. */
export const TRIED_ANNOTATION = "fjord.dev/tried";
