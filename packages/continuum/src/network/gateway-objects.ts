import { AddressPlan, Link, Site } from "@fjord/api";
import { type Cache, isNotFound, type KubeClient, Secret, type SharedCaches, sameContent } from "@fjord/kube";
import { LINK_SECRET, privateKeyOf } from "./link-key.ts";
import { linkStatus, type SeenLink } from "./link-status.ts";
import type { NetworkState } from "./network-state.ts";
import { networkState } from "./network-state-of.ts";

export interface GatewayObjectsOptions {
  readonly client: KubeClient;
  /** Run, and in sync, before anything is read. */
  readonly caches: SharedCaches;
  /** The agent's. */
  readonly namespace: string;
  now(): number;
}

/** Numbers that change with each packet are told this often; what somebody waits for, at once. */
const NUMBERS_MS = 10_000;

/** What a gateway is to bring about, by the objects of the own API; and says there how links are. */
export class GatewayObjects {
  readonly #options: GatewayObjectsOptions;
  readonly #sites: Cache<Site>;
  readonly #plans: Cache<AddressPlan>;
  readonly #links: Cache<Link>;
  readonly #secrets: Cache<Secret>;
  readonly #toldAt = new Map<string, number>();

  constructor(options: GatewayObjectsOptions) {
    this.#options = options;
    const { caches, namespace } = options;
    this.#sites = caches.open(Site).cache;
    this.#plans = caches.open(AddressPlan).cache;
    this.#links = caches.open(Link).cache;
    this.#secrets = caches.open(Secret, { namespace, fieldSelector: `metadata.name=${LINK_SECRET}` }).cache;
  }

  /** Undefined while the site has no key, as it has never wanted links. */
  async read(): Promise<{ readonly state: NetworkState; readonly privateKey: string } | undefined> {
    const [secret] = this.#secrets.list();
    const own = this.#sites.list().find(({ status }) => status?.role === "Self");
    if (secret === undefined || own === undefined) return undefined;
    return { state: networkState(own, this.#plans.list(), this.#links.list()), privateKey: privateKeyOf(secret) };
  }

  async tell(reports: readonly (SeenLink & { readonly siteId: string })[]): Promise<void> {
    for (const { siteId, ...seen } of reports) {
      const link = this.#links.get({ name: siteId });
      if (link !== undefined) await this.#say(link, seen);
    }
  }

  async #say(link: Link, seen: SeenLink): Promise<void> {
    const { client, now } = this.#options;
    const name = link.metadata.name ?? "";
    const status = linkStatus(link, seen, now());
    const isNews =
      !sameContent(status.conditions, link.status?.conditions) ||
      status.endpoint !== link.status?.endpoint ||
      (status.mtu === undefined) !== (link.status?.mtu === undefined);
    const isDue = now() - (this.#toldAt.get(name) ?? 0) >= NUMBERS_MS && !sameContent(status, link.status);
    if (!isNews && !isDue) return;
    this.#toldAt.set(name, now());
    const options = { subresource: "status", fieldManager: "fjord-gateway" };
    // What is no longer known is not said any more.
    const gone = Object.keys(link.status ?? {}).filter((field) => !(field in status));
    const patch = { status: { ...Object.fromEntries(gone.map((field) => [field, null])), ...status } };
    await client.patch(Link, { name }, "merge", patch, options).catch((error: unknown) => {
      // It has gone meanwhile.
      if (!isNotFound(error)) throw error;
    });
  }
}
