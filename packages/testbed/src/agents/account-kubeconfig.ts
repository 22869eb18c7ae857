import { writeFile } from "node:fs/promises";
import { AGENT_NAMESPACE } from "@fjord/api";
import { clusterConfig, type KubeClient, kubeconfigOf } from "@fjord/kube";
import type { Site } from "../site.ts";
import { siteServer } from "../site-layout.ts";

/** Writes a kubeconfig with a token of a service account of Fjord's, so that its roles are put to the test. */
export async function writeAccountKubeconfig(
  client: KubeClient,
  site: Site,
  account: string,
  file: string,
  signal?: AbortSignal,
): Promise<void> {
  const key = { name: account, namespace: AGENT_NAMESPACE };
  const { token } = await client.createToken(key, { expirationSeconds: 24 * 3600, ...(signal && { signal }) });
  const { ca } = site.config.tls;
  const config = clusterConfig({ server: siteServer(site.layout), ...(ca !== undefined && { ca }), token });
  await writeFile(file, await kubeconfigOf(config, site.name), { mode: 0o600 });
}
