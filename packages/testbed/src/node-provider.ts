import type { Site, StartOptions } from "./site.ts";

/**
 * Gives sites real nodes. Whatever it makes it records first, by `site.addProcess` and `site.addResource`, so that the
 * bed can remove all of it after a crash without the provider: processes are killed first, then the resources are
 * removed, last recorded first, and what is mounted below the run directory is unmounted before that is deleted.
 */
export interface NodeProvider {
  /** Makes the site's bridge (`site.layout.nodeNetwork`), before its API server listens on the bridge's address. */
  prepare(site: Site): Promise<void>;
  /** Joins `count` nodes to a site whose control plane is ready, and waits until they are Ready. */
  start(site: Site, count: number, options: StartOptions): Promise<void>;
}
