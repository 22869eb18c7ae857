import type { Peering } from "@fjord/api";
import type { KnownPlaces } from "./known-places.ts";

/** The command that asks for another amount of the slice behind a virtual node, up to what is asked for. */
export function peerCommand(
  { peerings }: Pick<KnownPlaces, "peerings">,
  site: string,
  node: string | undefined,
): string {
  const peering = peerings.find(({ metadata, spec }) => (spec.virtualNode?.name ?? metadata.name) === node);
  return peering === undefined ? `fjord peer ${site}` : commandOf(peering);
}

/** The command that asks for a peering again. Without its name the one that is called as the site would be changed, or made. */
export function commandOf({ metadata: { name }, spec: { site } }: Peering): string {
  return ["fjord peer", site, ...(name === site ? [] : [`--name=${name}`])].join(" ");
}
