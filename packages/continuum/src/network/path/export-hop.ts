import type { Export } from "@fjord/api";
import { contains } from "../ip-range.ts";
import { EXPORT_RANGES } from "../link-address.ts";
import { parseAddress } from "../ranges.ts";
import { type BareHop, PEER_CONTEXT } from "./gateway-hops.ts";

/** Where the gateway leads what has come in to an address that stands for an export; undefined for any other address. */
export function exportHop(site: string, exports: readonly Export[] | undefined, real: string): BareHop | undefined {
  const address = parseAddress(real);
  if (address === undefined || !contains(EXPORT_RANGES[address.family], address)) return undefined;
  const hop = { site, at: "gateway" } as const;
  if (exports === undefined)
    return {
      ...hop,
      what: `${real} stands for an Export, which only the API of ${site} knows: ${PEER_CONTEXT}`,
      verdict: "Unknown",
    };
  for (const object of exports) {
    const entry = object.status?.entries?.find(({ addresses }) => addresses.includes(real));
    if (entry === undefined) continue;
    const ways = entry.ports.map(({ protocol, port, backends }) => {
      const places = backends.map((backend) => `${backend.address}:${backend.port}`);
      return `${protocol} ${port} to ${places.join(" or ") || "nowhere"}`;
    });
    const as = entry.masquerade ? ", which sees the gateway's own address" : "";
    return {
      ...hop,
      what: `${real} stands for ${entry.name}: leads ${ways.join(", ")}${as}; all else is dropped`,
      rule: `Export ${object.metadata.name}`,
      verdict: "Passes",
    };
  }
  return { ...hop, what: `${real} stands for no Export any more`, verdict: "Dropped" };
}
