import { GROUPS } from "./groups.ts";

/** apidiscovery.k8s.io/v2, as far as it is read here. */
export interface AggregatedDiscovery {
  items: { metadata: { name?: string }; versions: { version: string; resources?: DiscoveredResource[] }[] }[];
}

interface DiscoveredResource {
  resource: string;
  responseKind: ResponseKind;
  scope: "Namespaced" | "Cluster";
  singularResource: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  subresources?: { subresource: string; responseKind?: ResponseKind; verbs: string[] }[];
}

interface ResponseKind {
  group?: string;
  version?: string;
  kind: string;
}

/** One line per resource and version: a diff between two Kubernetes releases can be read. */
export function resourceTable(core: AggregatedDiscovery, others: AggregatedDiscovery): string {
  const rows = [...core.items, ...others.items]
    .filter(({ metadata }) => GROUPS.includes(metadata.name ?? ""))
    .flatMap(({ metadata, versions }) =>
      versions.flatMap(({ version, resources = [] }) => resources.map((one) => row(metadata.name ?? "", version, one))),
    );
  return `[\n${rows.map((one) => JSON.stringify(one)).join(",\n")}\n]\n`;
}

function row(group: string, version: string, resource: DiscoveredResource): unknown {
  const { subresources = [], shortNames = [], categories = [] } = resource;
  const kindOf = (of: ResponseKind | undefined) => ({
    group: of?.group || group,
    version: of?.version || version,
    kind: of?.kind ?? "",
  });
  return {
    group,
    version,
    kind: resource.responseKind.kind,
    plural: resource.resource,
    singular: resource.singularResource,
    namespaced: resource.scope === "Namespaced",
    shortNames,
    categories,
    verbs: resource.verbs,
    subresources: subresources.map((one) => ({
      name: one.subresource,
      ...kindOf(one.responseKind),
      verbs: one.verbs,
    })),
  };
}
