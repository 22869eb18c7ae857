import { EXPORTED_ANNOTATION, type Import } from "@fjord/api";
import type { EndpointSlice } from "@fjord/kube";
import type { ExportEntry } from "./export-entries.ts";
import { familyOf } from "./fabric/route-change.ts";
import { type FoundImport, importSlice } from "./import-forge.ts";

/** What this site exports to itself. Pods here go where it leads, and guests elsewhere to what stands for it on links. */
export function findOwnImport(object: Import, siteId: string, entries: readonly ExportEntry[]): FoundImport {
  const { site, export: name } = object.spec;
  const own = entries.find((entry) => entry.name === name);
  if (own === undefined) {
    const message = `no Export here that names ${site} has anything called ${name}`;
    return { siteId, addresses: [], ports: [], reason: "NotExported", message };
  }
  const places = own.ports.flatMap(({ backends }) => backends.map(({ address }) => address));
  return {
    siteId,
    // Those of a Service come and go.
    addresses: name.includes("/") ? [] : [...new Set(places)],
    ports: own.ports.map(({ backends: _, ...port }) => port),
    reason: "Imported",
    message: "",
    own,
  };
}

/** One for each address that stands for it, and each port here that one of its ports leads to. */
export function forgeOwnSlices(object: Import, own: ExportEntry): EndpointSlice[] {
  return own.addresses.flatMap((exported) => {
    const family = familyOf(exported);
    return own.ports.flatMap(({ backends, ...port }) => {
      const ways = backends.filter(({ address }) => familyOf(address) === family);
      return [...Map.groupBy(ways, (way) => way.port)].map(([there, some]) => {
        const suffix = `ipv${family}-${port.protocol.toLowerCase()}-${port.port}-${there}`;
        const addresses = some.map(({ address }) => address);
        const slice = importSlice(object, suffix, family, addresses, [{ ...port, port: there }]);
        const text = family === 6 ? `[${exported}]:${port.port}` : `${exported}:${port.port}`;
        return { ...slice, metadata: { ...slice.metadata, annotations: { [EXPORTED_ANNOTATION]: text } } };
      });
    });
  });
}
