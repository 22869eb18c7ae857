import { type Clock, type Kind, type KubeObject, type Logger, silentLogger, systemClock } from "@fjord/base";
import type { KubeClient } from "../client/client.ts";
import type { DynamicObject } from "../kinds/typed.ts";
import { getAnswer, textOf } from "./answer.ts";
import type { ApiResource, ApiSurface } from "./api-resource.ts";
import { KindNotServed } from "./errors.ts";
import { fetchSurface } from "./fetch-surface.ts";
import { describeQuery, findResource, type KindQuery } from "./lookup.ts";

export interface DiscoveryOptions {
  /** How long an answer is trusted. @default 600000 */
  ttlMs?: number;
  /** A lookup that finds nothing asks the server again, but no sooner than this after the last time. @default 3000 */
  missIntervalMs?: number;
  clock?: Clock;
  logger?: Logger;
}

export interface ServerVersion {
  major: string;
  minor: string;
  gitVersion: string;
  platform?: string;
}

/** What an API server serves, remembered. One of these per server is enough for a whole process. */
export class Discovery {
  readonly #client: Pick<KubeClient, "raw" | "transport">;
  readonly #ttlMs: number;
  readonly #missIntervalMs: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #known: { surface: ApiSurface; at: number } | undefined;
  #fetching: Promise<ApiSurface> | undefined;

  constructor(client: Pick<KubeClient, "raw" | "transport">, options: DiscoveryOptions = {}) {
    this.#client = client;
    this.#ttlMs = options.ttlMs ?? 600_000;
    this.#missIntervalMs = options.missIntervalMs ?? 3_000;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
  }

  /** The kind for `deploy`, `Deployment.apps`, `{ apiVersion, kind }` and the like; throws `KindNotServed`. */
  async resolve<T extends KubeObject = DynamicObject>(query: KindQuery): Promise<Kind<T>> {
    return (await this.resource(query)).kind as Kind<T>;
  }

  /** Like `resolve`, with all that the server says of the kind. */
  async resource(query: KindQuery): Promise<ApiResource> {
    let surface = await this.surface();
    let found = findResource(surface.resources, query);
    if (found === undefined && this.#age() >= this.#missIntervalMs) {
      surface = await this.#refresh();
      found = findResource(surface.resources, query);
    }
    if (found !== undefined) return found;
    const silent = surface.unanswered.map(({ groupVersion }) => groupVersion).join(", ");
    const hint = silent === "" ? "" : ` (${silent} did not answer and may hold it)`;
    throw new KindNotServed({ server: this.#client.transport.server, wanted: describeQuery(query), hint });
  }

  async surface(): Promise<ApiSurface> {
    return this.#known !== undefined && this.#age() < this.#ttlMs ? this.#known.surface : await this.#refresh();
  }

  /** Forgets what is known, for whoever has just changed it. */
  invalidate(): void {
    this.#known = undefined;
  }

  async serverVersion(): Promise<ServerVersion> {
    const { major, minor, gitVersion, platform } = await getAnswer(this.#client, "/version");
    return {
      major: textOf(major),
      minor: textOf(minor),
      gitVersion: textOf(gitVersion),
      ...(typeof platform === "string" ? { platform } : {}),
    };
  }

  #age(): number {
    return this.#known === undefined ? Number.POSITIVE_INFINITY : this.#clock.now() - this.#known.at;
  }

  #refresh(): Promise<ApiSurface> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<ApiSurface> {
    const surface = await fetchSurface(this.#client);
    for (const { groupVersion, reason } of surface.unanswered) {
      this.#logger.warn("API group did not answer", { server: this.#client.transport.server, groupVersion, reason });
    }
    this.#known = { surface, at: this.#clock.now() };
    return surface;
  }
}
