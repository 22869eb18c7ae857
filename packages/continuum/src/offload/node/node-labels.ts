import { type Contract, PROPERTY_PREFIX, SITE_LABEL, TIER_LABEL, VIRTUAL_NODE, type VirtualNode } from "@fjord/api";
import type { PublishedFacts } from "../../protocol.ts";

const MOST_PROPERTIES = 64;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** Names under these decide where pods go and what they may do: nobody but Kubernetes and Fjord gives them. */
const RESERVED = /(^|\.)(kubernetes\.io|k8s\.io|fjord\.dev)$/;

/** Labels of a Node by who says them: what the provider says of itself must never go before what an owner says. */
export interface NodeLabels {
  readonly published: Readonly<Record<string, string>>;
  readonly own: Readonly<Record<string, string>>;
}

export function forgeLabels(
  { metadata, spec }: VirtualNode,
  contract: Contract | undefined,
  published: PublishedFacts | undefined,
): NodeLabels {
  const { location, tier } = published ?? {};
  const arch = onlyOne(published?.architectures);
  const own = {
    ...spec.labels,
    ...valid("kubernetes.io/arch", arch),
    ...valid("kubernetes.io/os", onlyOne(published?.operatingSystems) ?? "linux"),
    ...valid("topology.kubernetes.io/region", location?.region),
    ...valid("topology.kubernetes.io/zone", location?.zone),
    ...valid(TIER_LABEL, tier),
    ...valid(SITE_LABEL, contract?.spec.terms.provider),
    "kubernetes.io/hostname": metadata.name ?? "",
    [VIRTUAL_NODE]: "true",
    // Load balancers of clouds must not send traffic to a machine that is none.
    "node.kubernetes.io/exclude-from-external-load-balancers": "true",
  };
  const properties = Object.entries(propertyLabels(published?.properties ?? {}));
  return { own, published: Object.fromEntries(properties.filter(([key]) => !(key in own))) };
}

/** A label that says one thing cannot say two: a site of mixed architectures has none, and pods choose by other labels. */
export function onlyOne(values: readonly string[] = []): string | undefined {
  const [first, ...others] = new Set(values);
  return others.length === 0 && first !== undefined && NAME.test(first) ? first : undefined;
}

function propertyLabels(properties: Readonly<Record<string, string>>): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [property, value] of Object.entries(properties).slice(0, MOST_PROPERTIES)) {
    const key = propertyLabel(property);
    if (key !== undefined && isLabelValue(value)) labels[key] = value;
  }
  return labels;
}

/** Undefined for what cannot be a label at all. */
function propertyLabel(property: string): string | undefined {
  const slash = property.indexOf("/");
  const prefix = slash < 0 ? undefined : property.slice(0, slash);
  const name = property.slice(slash + 1);
  if (!NAME.test(name) || (prefix !== undefined && !DOMAIN.test(prefix))) return undefined;
  return prefix === undefined || RESERVED.test(prefix) ? `${PROPERTY_PREFIX}${name}` : property;
}

function valid(key: string, value: string | undefined): Record<string, string> {
  return value !== undefined && value !== "" && isLabelValue(value) ? { [key]: value } : {};
}

function isLabelValue(value: unknown): value is string {
  return typeof value === "string" && (value === "" || NAME.test(value));
}
