import { Site } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { silentLogger, systemClock } from "@fjord/base";
import { CustomResourceDefinition, isConditionTrue, type KubeClient, Namespace } from "@fjord/kube";
import { PeerServer } from "../peering/server/index.ts";
import { type MintOptions, mintToken } from "./mint-token.ts";
import { pairRoute } from "./pair-route.ts";
import { PairingTokens } from "./pairing-tokens.ts";
import { PeerTls } from "./peer-tls.ts";
import type { SiteKey } from "./site-key.ts";

export const means = { clock: systemClock, random: Math.random, logger: silentLogger };
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

/** A site whose tokens can be redeemed. */
export async function startIssuer(client: KubeClient, key: SiteKey, siteName: string, clock = systemClock) {
  const tls = new PeerTls({ ...means, key });
  const refusals: string[] = [];
  const tokens = new PairingTokens({ client, namespace: NAMESPACE, clock, logger: silentLogger });
  const endpoints: string[] = [];
  const route = pairRoute({
    client,
    tokens,
    site: key.id,
    siteName,
    about: () => ({ name: siteName, endpoints }),
    clock,
    logger: silentLogger,
    refused: { inc: ({ reason }) => refusals.push(reason) },
  });
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
    tokens,
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
