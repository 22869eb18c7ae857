import type { Clock, Logger, Random } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";

/** What the owner of a site says about its page. */
export interface PageSettings {
  readonly listen: { readonly host: string; readonly port: number };
  /** PEM; without it the page is served on loopback alone. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Names that the page may be asked for by, beside addresses and `localhost`. */
  readonly hosts: readonly string[];
  /** Whether viewers may change things, as far as RBAC lets them. */
  readonly actions: boolean;
  /** Where a demo takes the wish to cut a site off or to bring it back. */
  readonly demo?: string;
  /** The folder with the built files. */
  readonly files: string;
}

export interface PageOptions extends PageSettings {
  readonly client: KubeClient;
  /** Id of the own site. */
  readonly site: string;
  /** Where the agent keeps its own objects. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
