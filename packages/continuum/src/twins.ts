import type { SiteId } from "./site-identity.ts";

/** Which namespace is whose twin, at the consumer. Only twins that can be used are told. */
export interface Twins {
  /** Name of the twin of an own namespace at a site. */
  twinOf(site: SiteId, namespace: string): string | undefined;
  /** Why an own namespace has none at a site, in the words of its Offloading; undefined while one may be a moment away. */
  lackOf?(site: SiteId, namespace: string): string | undefined;
  /** The own namespace that a twin at a site belongs to. */
  originOf(site: SiteId, twin: string): string | undefined;
  /** Own namespaces that have a usable twin at the site. */
  namespacesAt(site: SiteId): readonly string[];
  /** Sites where an own namespace has a usable twin. */
  sitesOf(namespace: string): readonly SiteId[];
  /** Called when a twin became usable or ceased to be, or when it is told why there is none. */
  onChange(listener: (site: SiteId, namespace: string) => void): () => void;
}
