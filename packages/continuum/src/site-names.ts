import type { Site } from "@fjord/api";

/** What a site is called here. */
export function siteNames(id: string, sites: readonly Site[]): string[] {
  return sites.filter(({ spec, status }) => (status?.id ?? spec.id) === id).map(({ metadata }) => metadata.name ?? "");
}

/** What users are told that it is called: its id where it has no name here. */
export function siteName(id: string, sites: readonly Site[]): string {
  const [name = id] = siteNames(id, sites);
  return name;
}
