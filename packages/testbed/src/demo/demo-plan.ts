/** One site, decided before anything starts. */
export interface DemoSitePlan {
  readonly name: string;
  readonly tier: "cloud" | "edge";
  /** Its own among those of this machine, on loopback: what it serves to people is there. */
  readonly address: string;
  /** On loopback, for Services and pods that are processes of this machine. */
  readonly serviceRange: string;
  readonly podRange: string;
  readonly capacity: Capacity;
}

/** What a site has for pods, whatever the machine has. */
export interface Capacity {
  /** Whole processors. */
  readonly cpu: number;
  /** GiB. */
  readonly memory: number;
  readonly pods: number;
}

export const CLOUD = "harbor";
export const EDGES = ["green-smoke", "lingering-meadow", "lively-wave", "frosty-wood"];
/** The edge that is cut off, and the one that has more to do than it can. */
export const LOST = "frosty-wood";
export const BUSY = "green-smoke";

/** So many demos find addresses of their own beside each other on one machine. */
export const BERTHS = 12;

/** Where the demo itself takes wishes. */
export function controlAddress(berth: number): { host: string; port: number } {
  return { host: `127.31.${berth}.250`, port: 7400 };
}

/**
 * Five sites on one machine: each has an address on loopback, and ranges there for its Services and its pods, beyond those that
 * nodes choose by themselves.
 */
export function demoPlans(berth: number): DemoSitePlan[] {
  const names = [CLOUD, ...EDGES];
  const first = 128 + berth * 2 * names.length;
  return names.map((name, index) => ({
    name,
    tier: name === CLOUD ? "cloud" : "edge",
    address: `127.31.${berth}.${index + 1}`,
    serviceRange: `127.${first + index}.0.0/16`,
    podRange: `127.${first + names.length + index}.0.0/16`,
    capacity: name === CLOUD ? { cpu: 2, memory: 4, pods: 60 } : { cpu: 1, memory: 2, pods: 30 },
  }));
}

/** Where a site serves its page. */
export function pageOf({ address }: Pick<DemoSitePlan, "address">): string {
  return `http://${address}:7446`;
}

/** What each site lets the others use of it, and what is asked of it. */
export const SHARED = {
  cloud: { cpu: "1500m", memory: "3Gi", pods: "40" },
  edge: { cpu: "750m", memory: "1536Mi", pods: "20" },
} as const;

export const ASKED = {
  cloud: { cpu: "350m", memory: "700Mi", pods: "10" },
  edge: { cpu: "500m", memory: "1Gi", pods: "15" },
} as const;
