import { join } from "node:path";
import type { Substrate } from "./binaries/versions.ts";

/** One site as planned: names, addresses, ports and places, all of them decided before anything starts. */
export interface SiteLayout {
  /** `site-1`, `site-2`, ... unless the bed has names for them. */
  readonly name: string;
  /** Counted from 1. */
  readonly index: number;
  readonly kubernetes: Substrate;
  readonly directory: string;
  /** Where the API server listens: loopback, or the address of the site's bridge when it has real nodes. */
  readonly address: string;
  readonly ports: SitePorts;
  /** Of the family that Services have where they do not say. */
  readonly podCidr: string;
  readonly serviceCidr: string;
  /** Of each family that its pods and Services have, that one first. */
  readonly podCidrs: readonly string[];
  readonly serviceCidrs: readonly string[];
  /** The `kubernetes` service: the first address of the service range. */
  readonly apiServiceAddress: string;
  /** Where cluster DNS is to answer: the tenth address of the service range. */
  readonly dnsServiceAddress: string;
  /** Every address that this site's API server may be reached by: they are in its certificate. */
  readonly certificateAddresses: readonly string[];
  readonly components: SiteComponents;
  /** Present when the site has real nodes. */
  readonly nodeNetwork?: NodeNetwork;
}

/** "apiserver" is etcd and the API server alone; "all" adds the controller manager and the scheduler. */
export type SiteComponents = "apiserver" | "all";

export interface SitePorts {
  readonly apiserver: number;
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly controllerManager: number;
  readonly scheduler: number;
}

/** What addresses pods and Services have: of one family, or of both with IPv4 first. */
export const ipFamilies = ["ipv4", "ipv6", "dual"] as const;

export type IpFamilies = (typeof ipFamilies)[number];

/** The network that joins a site's real nodes and the host. No two sites share one, whatever their pod ranges. */
export interface NodeNetwork {
  /** Name of the bridge interface on the host. */
  readonly bridge: string;
  /** Such as `198.18.7.0/24`. */
  readonly cidr: string;
  /** The host's address on the bridge, where the API server listens. */
  readonly address: string;
  /** The same of IPv6, where pods have it. */
  readonly ipv6?: { readonly cidr: string; readonly address: string };
}

/** The files of a site. Certificates come in pairs: `NAME.crt` and `NAME.key`. */
export function siteFiles(layout: Pick<SiteLayout, "directory">) {
  const pki = join(layout.directory, "pki");
  const kubeconfig = (name: string) => join(layout.directory, `${name}.kubeconfig`);
  return {
    pki,
    certificate: (name: string) => join(pki, `${name}.crt`),
    key: (name: string) => join(pki, `${name}.key`),
    serviceAccountPublicKey: join(pki, "service-account.pub"),
    etcdData: join(layout.directory, "etcd"),
    logs: join(layout.directory, "logs"),
    log: (process: string) => join(layout.directory, "logs", `${process}.log`),
    kubeconfig,
    adminKubeconfig: kubeconfig("admin"),
  };
}

/** Base URL of a site's API server. */
export function siteServer(layout: Pick<SiteLayout, "address" | "ports">): string {
  return `https://${hostOf(layout.address)}:${layout.ports.apiserver}`;
}

/** An address as it stands before a port. */
export function hostOf(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

export type SiteRanges = Pick<
  SiteLayout,
  "podCidr" | "serviceCidr" | "podCidrs" | "serviceCidrs" | "apiServiceAddress" | "dnsServiceAddress"
>;

/** The most sites that a bed can have: from there on the ranges would meet. */
export const maxSites = 70;

/** The ranges of site `index`, counted from 1, the first of which has number `first`; with `overlap` all have that one. */
export function siteRanges(index: number, overlap: boolean, first = 1, families: IpFamilies = "ipv4"): SiteRanges {
  const offset = ((first - 1 + (overlap ? 0 : index - 1)) % maxSites) + 1;
  const ipv4 = {
    podCidr: `10.${100 + offset}.0.0/16`,
    serviceCidr: `10.${180 + offset}.0.0/16`,
    apiServiceAddress: `10.${180 + offset}.0.1`,
    dnsServiceAddress: `10.${180 + offset}.0.10`,
  };
  const ipv6 = {
    podCidr: `fd77:${offset}::/48`,
    serviceCidr: `fd78:${offset}::/112`,
    apiServiceAddress: `fd78:${offset}::1`,
    dnsServiceAddress: `fd78:${offset}::a`,
  };
  const all = { ipv4: [ipv4], ipv6: [ipv6], dual: [ipv4, ipv6] }[families];
  return {
    ...(all[0] as typeof ipv4),
    podCidrs: all.map(({ podCidr }) => podCidr),
    serviceCidrs: all.map(({ serviceCidr }) => serviceCidr),
  };
}

/** The loopback address on which `from` reaches `to`. */
export function pathAddress(from: number, to: number): string {
  return `127.77.${from}.${to}`;
}
