import type { Duplex } from "node:stream";
import type { KubeClient, ReflectorTiming } from "@fjord/kube";
import type { SiteReport } from "./protocol.ts";
import type { SiteId } from "./site-identity.ts";

/** What is known of whether a site answers, and since when. */
export interface Reachability {
  readonly reachable: boolean;
  /** Milliseconds since the epoch at which `reachable` became what it is. */
  readonly since: number;
  /** When it was last heard of; absent: never. */
  readonly lastHeard?: number;
  /** A reason of the Reachable condition of a Site. */
  readonly reason: "Dialled" | "Tunnelled" | "NoEndpoint" | "ConnectionFailed" | "TimedOut" | "NotPaired" | "WrongKey";
  readonly message: string;
  /**
   * Present where it has answered for a minute, with its own key and with nothing else, that it does not know this site: what it
   * had promised is over. It gains nothing by saying so, since a provider may revoke its contracts anyway.
   */
  readonly forgotten?: true;
}

/** Another site. Connections are made, found again and pinned to its key underneath; whoever uses it need not care. */
export interface RemoteSite {
  readonly id: SiteId;
  /**
   * Its Kubernetes API behind its proxy, as the tenant that this site is there. List and watch without a namespace give
   * only objects labelled as this site's.
   */
  readonly kube: KubeClient;
  /**
   * One call of the agents' own protocol. Throws `PeerRefused` where the other side says no, and `ConnectionError` where
   * nobody answers.
   */
  call<Answer>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<Answer>;
  /**
   * A connection to a path of the agents' server that speaks another protocol from then on. It outlasts a site that is away for a
   * while. Throws `PeerRefused` where the other side says no.
   */
  connect(path: string, protocol: string, signal: AbortSignal): Promise<Duplex>;
  readonly reachability: Reachability;
  /** By how many milliseconds its clock is ahead of this site's, as of its last answer; 0 where that is next to nothing. */
  readonly clockAhead: number;
  /** The newest report of the other side; absent until it has answered once. */
  readonly report: SiteReport | undefined;
  /** Called when `reachability` or `report` is another one. Returns how to stop that. */
  onChange(listener: () => void): () => void;
  /** Asks for a report now rather than at the next beat, for whoever knows that something has changed. */
  refresh(): void;
}

/**
 * For caches of a remote site: nobody waits long for its return. Connections to a site that is away fail at once, so that
 * asking often costs nothing.
 */
export const remoteTiming: Partial<ReflectorTiming> = { backoffInitialMs: 100, backoffMaxMs: 1_000 };

/** All peers that the own site has a Site object for. */
export interface RemoteSites {
  get(id: SiteId): RemoteSite | undefined;
  list(): readonly RemoteSite[];
  /** Called with the id of a site that came, went or changed. */
  onChange(listener: (id: SiteId) => void): () => void;
}
