import type { ClusterConfig } from "@fjord/kube";
import type { DemoSitePlan } from "./demo-plan.ts";

/** A site of the demo, whatever it is made of. */
export interface DemoSite {
  readonly name: string;
  readonly plan: DemoSitePlan;
  /** Resident bytes of its processes; its pods are not among them. */
  readonly memory: number;
  /** With the rights of its administrator; only once it was started. */
  config(): Promise<ClusterConfig>;
  /** From one moment to the next it answers nobody, and nobody hears of it. */
  cut(): Promise<void>;
  heal(): Promise<void>;
  /** The end of what it wrote. */
  tail(): string;
}

export interface SubstrateStart {
  /** Variables for its processes. */
  readonly env: NodeJS.ProcessEnv;
  /** The command `fjord`, as a file for Node. */
  readonly fjord: string;
  /** The built files of the sites' pages. */
  readonly page: string;
  /** Where pages send the wish to cut a site off. */
  readonly control: string;
  readonly signal: AbortSignal;
  /** Hears what goes on, a line at a time. */
  readonly told: (line: string) => void;
}

/** What the sites of a demo are made of. All else in the demo is the same, whatever that is. */
export interface Substrate {
  /** What they are, in a few words. */
  readonly title: string;
  readonly sites: readonly DemoSite[];
  /** A real kubectl, where there is one; known once the sites were started. */
  readonly kubectl: string | undefined;
  /** Where the ports of the cloud's nodes are reached from this machine. */
  readonly nodeAddress: string;
  /** Resolves when every site has its API, its node and its agent. */
  start(options: SubstrateStart): Promise<void>;
  /** What sites ask of each other beside amounts: flags of `fjord peer`. */
  readonly peering: readonly string[];
  /** By which way an edge reaches the cloud: flags of `fjord pair token` there. */
  wayToCloud(edge: string): Promise<readonly string[]>;
  /** Ends all sites with their pods, and removes what they kept: also what an earlier demo has left. */
  remove(): Promise<void>;
}

export const SUBSTRATES = ["embedded", "kubernetes"] as const;
export type SubstrateName = (typeof SUBSTRATES)[number];
