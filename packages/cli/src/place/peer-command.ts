import type { KnownPlaces } from "./known-places.ts";

/** The command that asks for another amount of the slice behind a virtual node, up to what is asked for. */
export function peerCommand(
  { peerings }: Pick<KnownPlaces, "peerings">,
  site: string,
  node: string | undefined,
): string {
  const peering = peerings.find(({ metadata, spec }) => (spec.virtualNode?.name ?? metadata.name) === node);
  const { name = site } = peering?.metadata ?? {};
  // Without its name the one that is called as the site would be changed, or made.
  return ["fjord peer", site, ...(name === site ? [] : [`--name=${name}`])].join(" ");
}
