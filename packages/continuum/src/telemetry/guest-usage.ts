import { CONSUMER_LABEL } from "@fjord/api";
import { describeError } from "@fjord/base";
import { type Cache, Pod } from "@fjord/kube";
import type { Home } from "../home.ts";
import type { PeerRoute } from "../peer-routes.ts";
import { LARGEST_BODY } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { type NodeUsage, readSummary } from "./kubelet-summary.ts";
import { Recent } from "./recent.ts";
import type { PodUsage, UsagePage } from "./usage.ts";

export interface GuestUsageOptions {
  readonly home: Pick<Home, "client" | "caches" | "clock" | "logger">;
  /** How old an answer may be. @default 5000 */
  readonly freshMs?: number;
}

const NODE_TIMEOUT_MS = 3_000;
const NODES_AT_ONCE = 8;
const PAGE_BYTES = LARGEST_BODY * 0.8;

/** At the provider: what each consumer's guests use, as the kubelets of their nodes measure it. */
export class GuestUsage {
  readonly #options: GuestUsageOptions;
  readonly #guests: Cache<Pod>;
  readonly #nodes: Recent<NodeUsage>;
  readonly #pages: Recent<readonly (readonly PodUsage[])[]>;

  constructor(options: GuestUsageOptions) {
    this.#options = options;
    const { home, freshMs = 5_000 } = options;
    this.#guests = home.caches.open(Pod, { labelSelector: CONSUMER_LABEL }).cache;
    this.#nodes = new Recent(home.clock, freshMs, (node) => this.#ask(node));
    this.#pages = new Recent(home.clock, freshMs, (consumer) => this.#collect(consumer));
  }

  /** `GET /fjord/v1/stats/PAGE` */
  get route(): PeerRoute {
    return {
      method: "GET",
      path: "/stats/:page",
      access: "consumer",
      handle: ({ caller, params }) => this.page(caller.id, Number.parseInt(params.page ?? "0", 10)),
    };
  }

  async page(consumer: SiteId, page: number): Promise<UsagePage> {
    const pages = await this.#pages.get(consumer);
    return { now: this.#options.home.clock.now(), pods: pages[page] ?? [], more: page + 1 < pages.length };
  }

  async #collect(consumer: SiteId): Promise<readonly (readonly PodUsage[])[]> {
    const guests = this.#guests.list().filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] === consumer);
    const names = new Set(
      guests.flatMap(({ spec, status }) => (status?.phase === "Running" ? (spec?.nodeName ?? []) : [])),
    );
    const byNode = new Map<string, NodeUsage>();
    const work = names.values();
    const worker = async () => {
      for (const node of work) byNode.set(node, await this.#nodes.get(node));
    };
    await Promise.all(Array.from({ length: NODES_AT_ONCE }, worker));
    const usage = guests.flatMap(({ metadata, spec }) => {
      const { namespace = "", name = "", uid } = metadata;
      const found = byNode.get(spec?.nodeName ?? "")?.get(`${namespace}/${name}`);
      return found === undefined || found.uid !== uid ? [] : [{ namespace, name, containers: found.containers }];
    });
    return paged(usage, PAGE_BYTES);
  }

  /** A node that does not answer keeps nobody from knowing what the others' pods use. */
  async #ask(node: string): Promise<NodeUsage> {
    const { client, clock, logger } = this.#options.home;
    const late = new AbortController();
    const cancel = clock.after(NODE_TIMEOUT_MS, () => late.abort(new Error(`no answer within ${NODE_TIMEOUT_MS} ms`)));
    try {
      const path = `/api/v1/nodes/${encodeURIComponent(node)}/proxy/stats/summary`;
      const query = { only_cpu_and_memory: "true" };
      const { body } = await client.raw("GET", path, { query, signal: late.signal });
      return readSummary(JSON.parse(body.toString("utf8")), (key) => this.#isGuest(key));
    } catch (error) {
      logger.debug("a node does not say what its pods use", { node, error: describeError(error) });
      return new Map();
    } finally {
      cancel();
    }
  }

  #isGuest(key: string): boolean {
    const [namespace = "", name = ""] = key.split("/");
    return this.#guests.get({ namespace, name }) !== undefined;
  }
}

/** Pages that each are small enough for one answer. */
export function paged(pods: readonly PodUsage[], most: number): PodUsage[][] {
  const pages: PodUsage[][] = [];
  let room = 0;
  for (const pod of pods) {
    const size = JSON.stringify(pod).length + 1;
    if (size > room) {
      pages.push([]);
      room = most;
    }
    pages.at(-1)?.push(pod);
    room -= size;
  }
  return pages;
}
