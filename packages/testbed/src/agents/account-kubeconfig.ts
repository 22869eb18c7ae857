import { writeFile } from "node:fs/promises";
import { AGENT_NAMESPACE } from "@fjord/api";
import type { KubeClient } from "@fjord/kube";
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
  const { name } = site;
  const authority = ca && { "certificate-authority-data": Buffer.from(ca).toString("base64") };
  // As JSON, for which no parser of YAML is loaded: an agent in a cluster has none either, and its memory is measured.
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: siteServer(site.layout), ...authority } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  await writeFile(file, JSON.stringify(kubeconfig), { mode: 0o600 });
}
