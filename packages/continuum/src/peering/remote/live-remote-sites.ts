import { aborted } from "@fjord/base";
import type { KubeClientOptions } from "@fjord/kube";
import type { Means } from "../../home.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { PeerTls } from "../peer-tls.ts";
import type { ParkedConnections } from "../tunnel/parked-connections.ts";
import { defaultRemoteTiming, type RemoteTiming } from "./heartbeat.ts";
import { Remote } from "./remote.ts";
import type { SiteDirectory } from "./site-directory.ts";

export interface LiveRemoteSitesOptions extends Omit<Means, "metrics"> {
  readonly sites: Pick<SiteDirectory, "get" | "onChange">;
  readonly tls: PeerTls;
  /** Where sites without an endpoint wait to be asked. */
  readonly parked?: ParkedConnections;
  /**
   * Whether somebody needs to know at once when the site goes or comes; others are asked now and then. @default all while
   * they are few, else those whose Kubernetes API is used and those called of late
   */
  readonly used?: (id: SiteId) => boolean;
  readonly timing?: Partial<RemoteTiming>;
  /** For the clients of their Kubernetes APIs. */
  readonly kube?: KubeClientOptions;
  /** What caches of one site may take together: it tells whatever its owner likes. @default 128 MiB */
  readonly roomBytes?: number;
}

/** So many sites can be asked every second without anybody noticing. */
const FEW = 64;

/** The peers that Site objects name, each asked for how it is while `run` runs. */
export class LiveRemoteSites implements RemoteSites {
  readonly #options: LiveRemoteSitesOptions;
  readonly #timing: RemoteTiming;
  readonly #remotes = new Map<SiteId, Remote>();
  readonly #listeners = new Set<(id: SiteId) => void>();
  readonly #uses = new Map<SiteId, number>();

  constructor(options: LiveRemoteSitesOptions) {
    this.#options = options;
    this.#timing = { ...defaultRemoteTiming, ...options.timing };
  }

  get(id: SiteId): RemoteSite | undefined {
    return this.#remotes.get(id);
  }

  list(): readonly RemoteSite[] {
    return [...this.#remotes.values()];
  }

  onChange(listener: (id: SiteId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Has the site asked about every second for as long as somebody uses it. Returns how to end the use. */
  use(id: SiteId): () => void {
    this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
    this.#remotes.get(id)?.refresh();
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = (this.#uses.get(id) ?? 1) - 1;
      if (left === 0) this.#uses.delete(id);
      else this.#uses.set(id, left);
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sites, parked } = this.#options;
    const stopFollowing = sites.onChange((id) => this.#follow(id));
    // A site that dials in is there: no need to wait for the next beat.
    const stopParked = parked?.onParked((id) => {
      const remote = this.#remotes.get(id);
      if (remote !== undefined && !remote.reachability.reachable) remote.refresh();
    });
    await aborted(signal);
    stopFollowing();
    stopParked?.();
    const remotes = [...this.#remotes.values()];
    this.#remotes.clear();
    await Promise.all(remotes.map((remote) => remote.stop()));
  }

  #follow(id: SiteId): void {
    const site = this.#options.sites.get(id);
    const remote = this.#remotes.get(id);
    if (site === undefined) {
      if (remote === undefined) return;
      this.#remotes.delete(id);
      this.#options.parked?.drop(id);
      void remote.stop();
    } else if (remote === undefined) {
      const added = this.#make(id);
      this.#remotes.set(id, added);
      added.refresh();
    } else if (!remote.reachability.reachable) remote.refresh();
    this.#tell(id);
  }

  #make(id: SiteId): Remote {
    const { clock, random, logger, sites, tls, parked, kube, roomBytes } = this.#options;
    const needed = this.#options.used ?? (() => this.#remotes.size <= FEW || remote.inUse);
    const remote: Remote = new Remote({
      id,
      tls,
      site: () => sites.get(id),
      ...(parked === undefined ? {} : { parked }),
      ...(kube === undefined ? {} : { kube }),
      ...(roomBytes === undefined ? {} : { roomBytes }),
      means: { clock, random, logger },
      timing: this.#timing,
      used: () => this.#uses.has(id) || needed(id),
      onChange: () => this.#tell(id),
    });
    return remote;
  }

  #tell(id: SiteId): void {
    for (const listener of [...this.#listeners]) listener(id);
  }
}
