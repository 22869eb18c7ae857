import { describeError, type KubeObject } from "@fjord/base";
import { type CertificatePair, remoteHeaders } from "../authentication/index.ts";
import type { Cluster } from "../cluster.ts";
import { typeOf } from "../cluster-objects.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import type { ExtraHandler, GroupDescription } from "../server/index.ts";
import { passThrough } from "../server/pass-through.ts";
import { type ApiService, type ApiServiceCondition, GROUP, isAvailable, nameOf } from "./api-service.ts";
import { groupsOf } from "./remote-groups.ts";
import { type Availability, askRemote, remoteDestination } from "./remote-server.ts";

export interface AggregatorOptions {
  readonly cluster: Cluster;
  /** As which this server speaks for its callers. */
  readonly certificate: CertificatePair;
  /** Told when others serve something else than before. */
  readonly changed: () => void;
}

interface Remote {
  service: ApiService;
  /** APIResourceList, as it was last told. */
  resources?: KubeObject;
  /** What ends the wait for the next look. */
  cancel(): void;
}

const LOOK_AGAIN_MS = { available: 10_000, unavailable: 1_000 };

/** APIServices of other servers: looks whether they are there, tells what they serve, and passes requests on to them. */
export class Aggregator {
  readonly #options: AggregatorOptions;
  readonly #remotes = new Map<string, Remote>();
  #stop: (() => void) | undefined;

  constructor(options: AggregatorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stop = this.#options.cluster.follow(this.#type, ({ type, object }) =>
      this.#follow(type === "DELETED", object as ApiService),
    );
  }

  stop(): void {
    this.#stop?.();
    for (const { cancel } of this.#remotes.values()) cancel();
    this.#remotes.clear();
  }

  /** What others serve. */
  groups(): GroupDescription[] {
    return groupsOf([...this.#remotes.values()]);
  }

  /** Passes on what another server serves, with who asks. */
  readonly handle: ExtraHandler = async (exchange) => {
    if (this.#remotes.size === 0) return false;
    const { path, caller } = exchange;
    const [, root, group = "", version = ""] = path.split("/");
    const remote = root === "apis" ? this.#remotes.get(nameOf(group, version)) : undefined;
    if (remote === undefined || caller === undefined) return false;
    const unavailable = () => {
      exchange.send(503, "text/plain; charset=utf-8", "service unavailable\n");
      return true;
    };
    if (!isAvailable(remote.service)) return unavailable();
    const { cluster, certificate } = this.#options;
    let destination: ReturnType<typeof remoteDestination>;
    try {
      destination = remoteDestination(cluster, remote.service, certificate);
    } catch (error) {
      cluster.logger.warn("an aggregated API has no address", { path, error: describeError(error) });
      return unavailable();
    }
    const headers = { ...destination.headers, ...remoteHeaders(caller) };
    await passThrough(exchange, { ...destination, path: exchange.request.url ?? path, headers });
    return true;
  };

  get #type(): ResourceType {
    return typeOf(this.#options.cluster, GROUP, "APIService");
  }

  #follow(isGone: boolean, service: ApiService): void {
    const name = service.metadata.name ?? "";
    const known = this.#remotes.get(name);
    if (isGone || service.spec.service === undefined) {
      if (known === undefined) return;
      known.cancel();
      this.#remotes.delete(name);
      this.#options.changed();
      return;
    }
    const isSame = known !== undefined && JSON.stringify(known.service.spec) === JSON.stringify(service.spec);
    if (isSame) known.service = service;
    else {
      known?.cancel();
      const remote: Remote = { service, cancel: () => {} };
      this.#remotes.set(name, remote);
      void this.#look(name, remote);
    }
    this.#options.changed();
  }

  async #look(name: string, remote: Remote): Promise<void> {
    const { cluster, certificate } = this.#options;
    const isCurrent = () => this.#remotes.get(name) === remote;
    let isThere = false;
    try {
      const { availability, resources } = await askRemote(cluster, remote.service, certificate);
      if (!isCurrent()) return;
      isThere = availability.status === "True";
      const isNew = resources !== undefined && JSON.stringify(resources) !== JSON.stringify(remote.resources);
      if (isNew) {
        remote.resources = resources;
        this.#options.changed();
      }
      await this.#tell(name, availability);
    } catch (error) {
      cluster.logger.warn("an APIService cannot be looked after", { name, error: describeError(error) });
    }
    if (!isCurrent()) return;
    const wait = isThere ? LOOK_AGAIN_MS.available : LOOK_AGAIN_MS.unavailable;
    remote.cancel = cluster.clock.after(wait, () => void this.#look(name, remote));
  }

  async #tell(name: string, availability: Availability): Promise<void> {
    const { cluster } = this.#options;
    const time = `${new Date(cluster.clock.now()).toISOString().slice(0, 19)}Z`;
    const change = (object: KubeObject) => {
      const conditions = withAvailability((object as ApiService).status?.conditions ?? [], availability, time);
      return conditions && ({ ...object, status: { ...(object as ApiService).status, conditions } } as KubeObject);
    };
    await cluster.modify(this.#type, "", name, change, { subresource: "status" });
  }
}

/** undefined: it is so already. */
function withAvailability(
  conditions: readonly ApiServiceCondition[],
  availability: Availability,
  time: string,
): readonly ApiServiceCondition[] | undefined {
  const old = conditions.find(({ type }) => type === "Available");
  const { status, reason, message } = availability;
  if (old?.status === status && old.reason === reason && old.message === message) return undefined;
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : time;
  const next = { type: "Available", status, lastTransitionTime, reason, message };
  return old === undefined ? [...conditions, next] : conditions.map((one) => (one === old ? next : one));
}
