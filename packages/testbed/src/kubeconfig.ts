import { stringify } from "yaml";

export interface KubeconfigOptions {
  /** Names the cluster, the user and the context. */
  name: string;
  server: string;
  /** PEM. */
  ca: string;
  cert: string;
  key: string;
}

/** The text of a kubeconfig file that stands alone: certificates are in it, not beside it. */
export function forgeKubeconfig(options: KubeconfigOptions): string {
  const { name, server } = options;
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": base64(options.ca) } }],
    users: [
      { name, user: { "client-certificate-data": base64(options.cert), "client-key-data": base64(options.key) } },
    ],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
