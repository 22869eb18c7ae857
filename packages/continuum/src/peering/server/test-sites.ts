import { Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { PeerTls, type PeerTlsOptions, SiteKey } from "../../identity/index.ts";

export const means = { clock: systemClock, random: Math.random, logger: silentLogger };

/** A key and its TLS, as an agent has them. */
export async function testSite(
  options: Pick<PeerTlsOptions, "lifetimeMs"> = {},
): Promise<{ key: SiteKey; id: string; tls: PeerTls }> {
  const key = await SiteKey.generate();
  return { key, id: key.id, tls: new PeerTls({ key, clock: systemClock, logger: silentLogger, ...options }) };
}

export function siteObject(id: string, spec: Partial<Site["spec"]> = {}): Site {
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: Site.kind,
    metadata: { name: `site-${id.slice(0, 8)}` },
    spec: { id, mayConsume: false, ...spec },
  } as Site;
}
