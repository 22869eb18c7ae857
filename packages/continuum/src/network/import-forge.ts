import { type AddressPlan, group, IMPORT_LABEL, Import, REFLECT_ANNOTATION, type StatusOf, version } from "@fjord/api";
import type { EndpointSlice, Service } from "@fjord/kube";
import type { ExportEntry } from "./export-entries.ts";
import { familyOf } from "./fabric/route-change.ts";
import type { Family } from "./ip-range.ts";
import type { PeerWord } from "./peer-word.ts";
import { calledHere } from "./translate.ts";

export type ImportStatus = StatusOf<typeof Import>;
export type ImportReason = Extract<NonNullable<ImportStatus["conditions"]>[number], { type: "Ready" }>["reason"];

/** What is known of an import, before there is a Service for it. */
export interface FoundImport {
  readonly siteId?: string;
  readonly addresses: readonly string[];
  readonly ports: NonNullable<ImportStatus["ports"]>;
  readonly reason: ImportReason;
  readonly message: string;
  /** Where this site exports it itself. */
  readonly own?: ExportEntry;
}

const AT_HOME = { [REFLECT_ANNOTATION]: "false" };

export interface ImportSources {
  /** Id of the site that it names; absent where there is none. */
  readonly siteId?: string;
  readonly plan?: AddressPlan["spec"];
  readonly word: PeerWord;
}

/** What stands here for what a peer exports. What a peer that is silent has said before still holds. */
export function findImport(object: Import, { siteId, plan, word }: ImportSources): FoundImport {
  const { site, export: name } = object.spec;
  const nothing = (reason: ImportReason, message: string): FoundImport => ({
    ...(siteId !== undefined && { siteId }),
    addresses: [],
    ports: [],
    reason,
    message,
  });
  if (siteId === undefined) return nothing("SiteUnknown", `there is no Site ${site} with an id here`);
  if (plan === undefined) return nothing("NotLinked", `there is no link with ${site}`);
  if (word === "unknown" && object.status?.siteId === siteId) {
    const { addresses = [], ports = [] } = object.status;
    if (addresses.length > 0) return { siteId, addresses, ports, reason: "Imported", message: "" };
  }
  const found = word === "unknown" ? undefined : word.facts?.exports?.find((each) => each.name === name);
  if (found === undefined) return nothing("NotExported", `${site} exports nothing called ${name} to this site`);
  const addresses = found.addresses.flatMap((address) => calledHere(plan, address) ?? []);
  if (addresses.length === 0) return nothing("NotLinked", `addresses of what ${site} exports have no name here yet`);
  return { siteId, addresses, ports: found.ports.map((port) => ({ ...port })), reason: "Imported", message: "" };
}

/**
 * The Service of an Import. Twins of it would lead nowhere, as what it stands for is imported by this site alone; but where this site exports it, guests are led
 * here.
 */
export function forgeImportService(object: Import, { addresses, ports, own }: FoundImport): Service {
  const isIPv6 = (own?.addresses ?? addresses).every((address) => familyOf(address) === 6);
  const metadata = metadataOf(object, object.metadata.name ?? "");
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, annotations: own === undefined ? AT_HOME : {} },
    spec: {
      ...(isIPv6 && { ipFamilies: ["IPv6"] }),
      ports: ports.map((port) => ({ ...port, targetPort: port.port })),
    },
  };
}

/** One for each family. */
export function forgeImportSlices(object: Import, { addresses, ports }: FoundImport): EndpointSlice[] {
  return addresses.map((address) => {
    const family = familyOf(address);
    const slice = importSlice(object, `ipv${family}`, family, [address], ports);
    return { ...slice, metadata: { ...slice.metadata, annotations: AT_HOME } };
  });
}

export function importSlice(
  object: Import,
  suffix: string,
  family: Family,
  addresses: readonly string[],
  ports: FoundImport["ports"],
): EndpointSlice {
  const name = object.metadata.name ?? "";
  const metadata = metadataOf(object, `${name}-import-${suffix}`);
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
        "kubernetes.io/service-name": name,
        "endpointslice.kubernetes.io/managed-by": "fjord.dev",
      },
    },
    addressType: family === 4 ? "IPv4" : "IPv6",
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: ports.map(({ name: title = "", protocol, port }) => ({ name: title, protocol, port })),
  } as EndpointSlice;
}

/** Whether something is an Import's, by its owner. */
export function isOfImport(made: Service | EndpointSlice, object: Import): boolean {
  return made.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) ?? false;
}

function metadataOf({ metadata }: Import, name: string) {
  const { namespace = "", uid = "" } = metadata;
  return {
    name,
    namespace,
    labels: { [IMPORT_LABEL]: metadata.name ?? "" },
    ownerReferences: [
      { apiVersion: `${group}/${version}`, kind: Import.kind, name: metadata.name ?? "", uid, controller: true },
    ],
  };
}
