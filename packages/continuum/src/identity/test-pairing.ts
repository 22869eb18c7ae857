import { Site } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { type Clock, silentLogger, systemClock } from "@fjord/base";
import { CustomResourceDefinition, isConditionTrue, type KubeClient, Namespace } from "@fjord/kube";
import type { PeerRoute } from "../peer-routes.ts";
import { PeerServer } from "../peering/index.ts";
import { type MintOptions, mintToken } from "./mint-token.ts";
import { type PairRouteOptions, pairRoute } from "./pair-route.ts";
import { PairingTokens } from "./pairing-tokens.ts";
import { PeerTls } from "./peer-tls.ts";
import type { SiteKey } from "./site-key.ts";

export const means = { clock: systemClock, random: Math.random, logger: silentLogger };
type Client = Pick<KubeClient, "get" | "list" | "create" | "update" | "delete">;
export const NAMESPACE = "fjord-system";

/** The kinds and the namespace that an agent needs. */
export async function prepare(client: KubeClient): Promise<void> {
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  const definition = customResourceDefinitions().find(({ spec }) => spec.names.kind === Site.kind);
  await client.create(CustomResourceDefinition, definition as unknown as CustomResourceDefinition);
  for await (const event of client.watch(CustomResourceDefinition)) {
    if (event.type === "BOOKMARK") continue;
    const { conditions } = event.object.status ?? {};
    if (isConditionTrue(conditions as Parameters<typeof isConditionTrue>[0], "Established")) return;
  }
}

/** The route by which tokens of a site are redeemed, as its agent has it. */
export function pairRouteOf(client: Client, site: string, options: Partial<PairRouteOptions> = {}): PeerRoute {
  const { clock = systemClock } = options;
  const tokens = new PairingTokens({ client, namespace: NAMESPACE, clock, logger: silentLogger });
  const about = () => ({ endpoints: [] });
  return pairRoute({ client, tokens, site, siteName: "harbour", about, clock, logger: silentLogger, ...options });
}

/** A client whose process ends with one of its writes: before it was made, or before its answer came. */
export function killedAt(client: KubeClient, when: "before" | "after", write: number): Client {
  let writes = 0;
  const dying = (method: "create" | "update" | "delete") =>
    (async (...args: Parameters<KubeClient["create"]>) => {
      const last = ++writes >= write;
      if (last && when === "before") throw new Error("killed");
      const answer = await (client[method] as KubeClient["create"])(...args);
      if (last) throw new Error("killed");
      return answer;
    }) as KubeClient["create"];
  return {
    get: client.get.bind(client),
    list: client.list.bind(client),
    create: dying("create"),
    update: dying("update"),
    delete: dying("delete") as unknown as KubeClient["delete"],
  };
}

/** A site whose tokens can be redeemed. */
export async function startIssuer(client: KubeClient, key: SiteKey, siteName: string, clock: Clock = systemClock) {
  const tls = new PeerTls({ ...means, key });
  const refusals: string[] = [];
  const endpoints: string[] = [];
  const about = () => ({ name: siteName, endpoints });
  const counted = { inc: ({ reason }: { reason: string }) => refusals.push(reason) };
  const route = pairRouteOf(client, key.id, { siteName, about, clock, refused: counted });
  const limits = { strangersBurst: 1_000, strangersPerSecond: 1_000 };
  const server = new PeerServer({
    ...means,
    tls,
    limits,
    siteOf: () => undefined,
    routes: [route],
    rawRoutes: [],
    host: "127.0.0.1",
    port: 0,
  });
  endpoints.push(`https://127.0.0.1:${(await server.listen())?.port}`);
  const stop = new AbortController();
  const running = server.run(stop.signal);
  const mint = (options: Partial<MintOptions> = {}) =>
    mintToken({ client, namespace: NAMESPACE, site: key.id, endpoints, clock, ...options });
  return {
    key,
    route,
    refusals,
    endpoints,
    mint,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
