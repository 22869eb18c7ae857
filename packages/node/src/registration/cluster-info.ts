import { createHash, X509Certificate } from "node:crypto";
import { type ConfigMap, clusterConfig, KubeClient } from "@fjord/kube";
import { ServerNotTrusted } from "./errors.ts";

/**
 * The certificate authority of a cluster of which only a hash is known (`sha256:…`, as `kubeadm token create
 * --print-join-command` prints it), from the ConfigMap that kubeadm publishes for newcomers. Nothing that the server
 * says is believed until its authority has that hash.
 */
export async function discoverAuthority(
  server: string,
  hashes: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  await using client = new KubeClient(clusterConfig({ server, insecureSkipVerify: true }));
  const path = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
  const { body } = await client.raw("GET", path, { signal });
  const { data } = JSON.parse(body.toString("utf8")) as ConfigMap;
  const { parse } = await import("yaml");
  const kubeconfig: unknown = parse(data?.kubeconfig ?? "");
  const ca = authorityOf(kubeconfig);
  if (ca === undefined) throw new ServerNotTrusted({ server, reason: "it publishes no certificate authority" });
  const found = authorityHash(ca);
  if (hashes.some((hash) => hash.toLowerCase() === found)) return ca;
  throw new ServerNotTrusted({
    server,
    reason: `its authority has the hash ${found}, expected was ${hashes.join(", ")}`,
  });
}

/** Of the public key, as kubeadm makes it. */
export function authorityHash(ca: string): string {
  const spki = new X509Certificate(ca).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(spki).digest("hex")}`;
}

function authorityOf(kubeconfig: unknown): string | undefined {
  const { clusters } = (kubeconfig ?? {}) as { clusters?: { cluster?: Record<string, unknown> }[] };
  const data = clusters?.[0]?.cluster?.["certificate-authority-data"];
  return typeof data === "string" ? Buffer.from(data, "base64").toString("utf8") : undefined;
}
