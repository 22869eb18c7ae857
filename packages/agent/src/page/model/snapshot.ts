/** What the page shows, as the agent tells it: one snapshot, then what changed. No more than a person could look at. */

/** Amounts of a resource: processors in thousandths, memory in bytes, anything else as it is counted. */
export type Amounts = Readonly<Record<string, number>>;

export interface ConditionView {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** When the status last changed. */
  readonly since?: string;
}

export type Health = "well" | "waiting" | "lost" | "faulty";

export interface SiteView {
  /** Name of the Site object: what links and placements call it. */
  readonly name: string;
  readonly id?: string;
  readonly role: "self" | "peer";
  readonly tier?: "cloud" | "edge" | "device";
  readonly region?: string;
  /** `lost`: it does not answer; `faulty`: it answers, and something is wrong; `waiting`: nothing is known yet. */
  readonly health: Health;
  readonly reason: string;
  readonly message: string;
  /** Since when it is in that state. */
  readonly since?: string;
  readonly version?: string;
  readonly kubernetesVersion?: string;
  readonly endpoints: readonly string[];
  /** How it is reached: dialled, or through a connection that it opened itself. */
  readonly way?: "dialled" | "tunnelled" | "none";
  /** Of the own site: what its own nodes have. Of a peer: what contracts promise of it. */
  readonly capacity: Amounts;
  /** What pods request of that. */
  readonly used: Amounts;
  readonly shared: Amounts;
  readonly free: Amounts;
  /** What it gives to this site's consumers, and what this site is given, by contracts in force. */
  readonly contractedOut: Amounts;
  readonly contractedIn: Amounts;
  /** Pods that run there, as far as this site knows. */
  readonly pods: number;
  /** Own nodes, and how many of them are ready; of a peer: virtual nodes that stand for it. */
  readonly nodes: number;
  readonly nodesReady: number;
  readonly conditions: readonly ConditionView[];
}

/** One direction of use between two sites: a peering, its contract, its virtual node. */
export interface LinkView {
  /** Names of Site objects. */
  readonly consumer: string;
  readonly provider: string;
  readonly state: "open" | "cordoned" | "drained" | "waiting" | "broken" | "ended";
  readonly reason: string;
  readonly message: string;
  readonly peering?: string;
  readonly contract?: string;
  readonly phase?: string;
  readonly standing?: string;
  readonly peerStanding?: string;
  readonly node?: string;
  readonly nodeReady?: boolean;
  readonly resources: Amounts;
  readonly used: Amounts;
  readonly notAfter?: string;
  readonly conditions: readonly ConditionView[];
}

/** Native: on a node of the own site. Shadow: at another site. Guest: here for another. Pending: nowhere yet. */
export type Path = "native" | "shadow" | "guest" | "pending";

export interface PlaceView {
  /** The site that it runs at; empty while it runs nowhere. */
  readonly site: string;
  readonly path: Path;
  readonly pods: number;
  readonly ready: number;
}

export interface WorkloadView {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly desired: number;
  readonly pods: number;
  readonly ready: number;
  readonly restarts: number;
  readonly health: Health;
  /** What keeps it from being well, in a sentence; empty where nothing does. */
  readonly problem: string;
  readonly places: readonly PlaceView[];
  /** For a guest: the site whose it is. */
  readonly guestOf?: string;
  /** Where the namespace's pods may run, where it is offloaded. */
  readonly offloaded?: "Local" | "Remote" | "Both";
  readonly since?: string;
  readonly image?: string;
}

export interface ContainerView {
  readonly name: string;
  readonly image: string;
  readonly ready: boolean;
  readonly restarts: number;
  readonly state: string;
}

export interface PodView {
  readonly namespace: string;
  readonly name: string;
  readonly workload: string;
  readonly site: string;
  readonly node?: string;
  readonly path: Path;
  readonly phase: string;
  readonly ready: boolean;
  readonly restarts: number;
  readonly ip?: string;
  readonly since?: string;
  /** Why it is where it is, or nowhere. */
  readonly placement: string;
  readonly containers: readonly ContainerView[];
}

export interface NoticeView {
  readonly about: string;
  readonly namespace?: string;
  readonly kind: string;
  readonly name: string;
  readonly warning: boolean;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly at: string;
}

export interface NodeView {
  readonly name: string;
  readonly ready: boolean;
  readonly virtual: boolean;
  readonly cordoned: boolean;
  readonly site: string;
  readonly capacity: Amounts;
  readonly used: Amounts;
  readonly pods: number;
}

/** Who looks, and what the agent offers. What the viewer may do is decided by the API, when it is done. */
export interface ViewerView {
  readonly user: string;
  readonly actions: boolean;
  readonly demo: boolean;
  /** Parts that RBAC keeps from the viewer, in words. */
  readonly hidden: readonly string[];
}

export interface Snapshot {
  /** Name of the own Site; empty where the viewer may not see sites. */
  readonly self: string;
  readonly viewer: ViewerView;
  readonly sites: Readonly<Record<string, SiteView>>;
  readonly links: Readonly<Record<string, LinkView>>;
  readonly nodes: Readonly<Record<string, NodeView>>;
  readonly workloads: Readonly<Record<string, WorkloadView>>;
  /** Of the workload that is looked at; of no other. */
  readonly pods: Readonly<Record<string, PodView>>;
  readonly notices: Readonly<Record<string, NoticeView>>;
}

export const COLLECTIONS = ["sites", "links", "nodes", "workloads", "pods", "notices"] as const;
export type Collection = (typeof COLLECTIONS)[number];
