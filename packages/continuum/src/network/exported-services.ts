import { CONSUMER_LABEL, type Export, IMPORT_LABEL, isKeptNamespace } from "@fjord/api";
import { type EndpointSlice, matchesSelector, type Namespace, type Service } from "@fjord/kube";
import { contains, type Family, formatRange, type IpRange } from "./ip-range.ts";
import { parseAddress } from "./ranges.ts";

/** What a site has that could be exported. */
export interface ServiceSources {
  readonly namespaces: readonly Namespace[];
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  /** What peers are called here: endpoints there are theirs to export. */
  readonly elsewhere: readonly IpRange[];
  /** The agent's. */
  readonly agentNamespace: string;
}

/** A Service with what is ready behind it. */
export interface ExportedService {
  /** `NAMESPACE/NAME`. */
  readonly name: string;
  readonly families: readonly Family[];
  readonly ports: readonly {
    readonly name?: string;
    readonly protocol: "TCP" | "UDP";
    readonly port: number;
    readonly backends: readonly { readonly address: string; readonly port: number }[];
  }[];
}

const MOST_BACKENDS = 64;

/** The Services that an Export names, in order. The API's own is never among them, nor what is another site's. */
export function exportedServices(
  { namespaceSelector, selector }: NonNullable<Export["spec"]["services"]>,
  sources: ServiceSources,
): ExportedService[] {
  const names = new Set(
    sources.namespaces
      .filter(({ metadata }) => isOwn(metadata, sources.agentNamespace))
      .filter(({ metadata }) => matchesSelector(namespaceSelector, metadata.labels))
      .map(({ metadata }) => metadata.name),
  );
  const slices = Map.groupBy(
    sources.slices,
    ({ metadata }) => `${metadata.namespace}/${metadata.labels?.["kubernetes.io/service-name"]}`,
  );
  return sources.services
    .filter(({ metadata }) => names.has(metadata.namespace) && matchesSelector(selector ?? {}, metadata.labels))
    .filter(isExportable)
    .map((service) => {
      const name = `${service.metadata.namespace}/${service.metadata.name}`;
      return exportedService(name, service, slices.get(name) ?? [], sources.elsewhere);
    })
    .filter(({ ports, families }) => ports.length > 0 && families.length > 0)
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function isOwn({ name = "", labels }: Namespace["metadata"], agentNamespace: string): boolean {
  return !isKeptNamespace(name, agentNamespace) && labels?.[CONSUMER_LABEL] === undefined;
}

function isExportable({ metadata, spec }: Service): boolean {
  const isApi = metadata.namespace === "default" && metadata.name === "kubernetes";
  return !isApi && spec?.type !== "ExternalName" && metadata.labels?.[IMPORT_LABEL] === undefined;
}

function exportedService(
  name: string,
  { spec }: Service,
  slices: readonly EndpointSlice[],
  elsewhere: readonly IpRange[],
): ExportedService {
  const all = spec?.ports ?? [];
  const ports = all.flatMap(({ name: title, protocol = "TCP", port }) => {
    if (protocol !== "TCP" && protocol !== "UDP") return [];
    const backends = slices.flatMap((slice) => backendsOf(slice, title ?? "", protocol, elsewhere));
    const unique = new Map(backends.map((each) => [`${each.address} ${each.port}`, each]));
    const sorted = [...unique.keys()].sort().flatMap((key) => unique.get(key) ?? []);
    const named = title === undefined || title === "" ? {} : { name: title };
    return [{ ...named, protocol, port, backends: sorted.slice(0, MOST_BACKENDS) } as const];
  });
  const said = (spec?.ipFamilies ?? []).map((family): Family => (family === "IPv6" ? 6 : 4));
  const seen = slices.map(({ addressType }): Family => (addressType === "IPv6" ? 6 : 4));
  const families = ([4, 6] as const).filter((family) => (said.length > 0 ? said : seen).includes(family));
  return { name, families, ports };
}

function backendsOf(
  { endpoints, ports, addressType }: EndpointSlice,
  title: string,
  protocol: string,
  elsewhere: readonly IpRange[],
): { address: string; port: number }[] {
  if (addressType === "FQDN") return [];
  const port = ports?.find((each) => (each.name ?? "") === title && (each.protocol ?? "TCP") === protocol)?.port;
  if (port === undefined) return [];
  return (endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => addresses)
    .flatMap((text) => {
      const address = parseAddress(text);
      if (address === undefined || elsewhere.some((range) => contains(range, address))) return [];
      return [{ address: formatRange(address), port: Number(port) }];
    });
}
