import type { GuestPrivilege } from "@fjord/api";
import type { Clock, Logger, Random } from "@fjord/base";
import type { ClusterConfig } from "@fjord/kube";
import type { LocalClients } from "@fjord/node/local-clients";
import type { HomeApi } from "./home-api.ts";
import type { PageSettings } from "./page/page-options.ts";

export interface AgentOptions {
  /** How the site's own API is reached. */
  readonly config: ClusterConfig;
  /** Where the agent keeps its own objects. */
  readonly namespace: string;
  /** Name of the own Site. @default the one it has, else one made of its id */
  readonly siteName?: string;
  readonly tier?: "cloud" | "edge" | "device";
  /** Where other agents are served. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Where other agents reach this one, where the own Site does not say. */
  readonly endpoints: readonly string[];
  /** Where the own API server reaches this process. @default the address towards it */
  readonly internalAddress?: string;
  /** Which pods are behind connections of this machine, where the node is in this process too. @default nobody is known */
  readonly clients?: LocalClients;
  readonly admissionPort: number;
  /** The Service in the agent's namespace by which the own API server reaches admission. @default the internal address */
  readonly admissionService?: { readonly name: string; readonly port: number };
  /** Where pods at other sites reach the site's own API, for those that ask for it. @default discovered */
  readonly homeApi?: HomeApi;
  /** What says it where it cannot be discovered, for the log. @default --home-api */
  readonly homeApiOption?: string;
  /** What namespaces of consumers are labelled with, such as levels of pod security. */
  readonly twinLabels?: Readonly<Record<string, string>>;
  /** What guests may have here beyond Kubernetes' baseline. @default nothing */
  readonly guestPrivileges?: readonly GuestPrivilege[];
  /** Where health and metrics are served. */
  readonly metrics: { readonly host: string; readonly port: number };
  /** The site's page. @default none */
  readonly page?: PageSettings;
  readonly leaderElect: boolean;
  /** How long the others wait for a leader that has gone silent. @default 15_000 */
  readonly leaseDurationMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
