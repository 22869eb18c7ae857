import type { Clock, Logger, Random } from "@fjord/base";
import { Cache, type KubeClient, Namespace } from "@fjord/kube";
import type { LocalClients } from "../local-clients/index.ts";
import { cachedNames } from "./dns/cached-names.ts";
import { DnsServer } from "./dns/dns-server.ts";
import { NftablesProxy } from "./nftables-proxy.ts";
import { ServiceProxy } from "./service-proxy.ts";
import { UserspaceProxy } from "./userspace-proxy.ts";

/** How a node serves Services itself, on a site without kube-proxy. */
export interface ServiceOptions {
  readonly mode: "userspace" | "nftables";
  /** Where the cluster's DNS is served, if here. */
  readonly dns?: { readonly address: string; readonly port: number; readonly upstreams: readonly string[] };
  /** Told for whom connections are passed on. */
  readonly clients?: LocalClients;
}

export interface ServicePartsOptions extends ServiceOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly nodeAddresses: readonly string[];
  readonly clusterDomain: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Part {
  run(signal: AbortSignal): Promise<void>;
}

/** What runs beside the pods for it. */
export function serviceParts(options: ServicePartsOptions): Part[] {
  const { mode, dns, client, nodeName, nodeAddresses, clusterDomain, clients, clock, random, logger } = options;
  const backend =
    mode === "userspace"
      ? new UserspaceProxy({ nodeAddresses, clock, logger, ...(clients && { clients }) })
      : new NftablesProxy({ nodeAddresses });
  const proxy = new ServiceProxy({ client, backend, context: { nodeName }, clock, random, logger });
  if (dns === undefined) return [proxy];
  const namespaces = new Cache({ client, kind: Namespace, clock, random, logger });
  const source = cachedNames(proxy.services, proxy.slices, namespaces);
  return [proxy, namespaces, new DnsServer({ ...dns, domain: clusterDomain, source, clock, logger })];
}
