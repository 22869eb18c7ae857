import type { ClusterConfig } from "./cluster-config.ts";
import { isWritable } from "./credentials.ts";
import { KubeconfigNotWritable } from "./errors.ts";
import { impersonationOf } from "./impersonation.ts";
import { type PlainValue, yamlText } from "./yaml-text.ts";

/** A kubeconfig with one context called `name` that leads to the same cluster. It holds secrets: write it with mode 0600. */
export async function kubeconfigOf(config: ClusterConfig, name: string): Promise<string> {
  return yamlText({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: clusterFields(config) }],
    users: [{ name, user: userFields(config) }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: config.namespace } }],
    "current-context": name,
  });
}

function clusterFields({ server, tls, proxy }: ClusterConfig): Record<string, PlainValue> {
  return {
    server,
    ...(tls.ca === undefined ? {} : { "certificate-authority-data": base64(tls.ca) }),
    ...(tls.serverName === undefined ? {} : { "tls-server-name": tls.serverName }),
    ...(tls.insecureSkipVerify ? { "insecure-skip-tls-verify": true } : {}),
    ...(proxy === undefined ? {} : { "proxy-url": proxy }),
  };
}

function userFields(config: ClusterConfig): Record<string, PlainValue> {
  const { server, tls, credentials } = config;
  const { impersonation, others } = impersonationOf(config.headers ?? {});
  if (others.length > 0)
    throw new KubeconfigNotWritable({ server, reason: `it sends the headers ${others.join(", ")}` });
  if (credentials !== undefined && !isWritable(credentials)) {
    throw new KubeconfigNotWritable({ server, reason: "its credentials are made by the program" });
  }
  return {
    ...(tls.cert === undefined ? {} : { "client-certificate-data": base64(tls.cert) }),
    ...(tls.key === undefined ? {} : { "client-key-data": base64(tls.key) }),
    ...credentials?.kubeconfigUser(),
    ...(impersonation === undefined ? {} : { as: impersonation.user }),
    ...(impersonation?.groups === undefined ? {} : { "as-groups": impersonation.groups }),
    ...(impersonation?.uid === undefined ? {} : { "as-uid": impersonation.uid }),
    ...(impersonation?.extra === undefined ? {} : { "as-user-extra": impersonation.extra }),
  };
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
