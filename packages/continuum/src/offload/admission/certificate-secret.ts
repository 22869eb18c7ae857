import { X509Certificate } from "node:crypto";
import { isAlreadyExists, type KubeClient, Secret } from "@fjord/kube";
import { type CertificateChain, newPair, type ServingPair } from "./certificate-chain.ts";

/** In the agent's namespace: what all agents of the site serve admission with. */
export const ADMISSION_SECRET = "fjord-admission";

/** The chain that the Secret holds; undefined where it holds none that can be used. */
export function chainOf({ data = {} }: Secret): CertificateChain | undefined {
  const text = (key: string) => data[key] && Buffer.from(data[key], "base64").toString("utf8");
  const pair = (name: string): ServingPair | undefined => {
    const [cert, key] = [text(`${name}.crt`), text(`${name}.key`)];
    return cert && key && isCertificate(cert) ? { cert, key } : undefined;
  };
  const [current, next, previous] = [pair("tls"), pair("next"), text("previous.crt")];
  if (current === undefined) return undefined;
  return { current, ...(next && { next }), ...(previous && isCertificate(previous) && { previous }) };
}

export function forgeSecret(namespace: string, { current, next, previous }: CertificateChain): Secret {
  const texts: Record<string, string | undefined> = {
    "tls.crt": current.cert,
    "tls.key": current.key,
    "next.crt": next?.cert,
    "next.key": next?.key,
    "previous.crt": previous,
  };
  const data: Record<string, string> = {};
  for (const [key, text] of Object.entries(texts))
    if (text !== undefined) data[key] = Buffer.from(text).toString("base64");
  const metadata = { name: ADMISSION_SECRET, namespace, labels: { "app.kubernetes.io/name": "fjord" } };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data };
}

/** The site's chain, made now where there is none. Agents that begin at once end up with the same. */
export async function loadChain(
  client: KubeClient,
  namespace: string,
  names: readonly string[],
  now: number,
  signal: AbortSignal,
): Promise<CertificateChain> {
  const made: CertificateChain = { current: await newPair(names, now) };
  try {
    await client.create(Secret, forgeSecret(namespace, made), { signal });
    return made;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const found = await client.get(Secret, { name: ADMISSION_SECRET, namespace }, { signal });
  // Whoever leads repairs one that somebody has spoilt.
  return chainOf(found) ?? made;
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
