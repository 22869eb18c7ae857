/** Resolver settings, as a `resolv.conf` has them. */
export interface DnsSettings {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** What pods on this node are made with, beside what they say themselves. Read anew each time: it may change. */
export interface PodSettings {
  readonly nodeName: string;
  /** At most one of each family; the first is the node's primary address. */
  readonly hostIPs: readonly string[];
  readonly stateDirectory: string;
  /** Addresses of the cluster's DNS service; empty where there is none. */
  readonly clusterDns: readonly string[];
  /** `cluster.local` */
  readonly clusterDomain: string;
  /** The machine's own, for `dnsPolicy: Default` where a pod adds to it. */
  readonly hostDns?: DnsSettings;
  /** Control group below which `kubepods` is. Empty: the root. */
  readonly cgroupRoot: string;
  /** Bytes of the machine. */
  readonly memoryCapacity: number;
  /** Of the node: processors in thousandths, everything else in its unit. */
  readonly allocatable: Readonly<Record<string, number>>;
  /** Of the Node object as far as is known; where they are not given, selectors of pods are not looked at. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Kernel settings beyond the safe ones that pods may ask for; `kernel.shm*` stands for many. */
  readonly allowedSysctls?: readonly string[];
}
