/** A kubeconfig that leads to the files of a node; kubectl takes it too. JSON is YAML, and needs no library to be read. */
export function kubeconfigText(nodeName: string, server: string, ca: string | undefined, pairFile: string): string {
  const user = `system:node:${nodeName}`;
  const data = ca === undefined ? {} : { "certificate-authority-data": Buffer.from(ca, "utf8").toString("base64") };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster: { server, ...data } }],
    users: [{ name: user, user: { "client-certificate": pairFile, "client-key": pairFile } }],
    contexts: [{ name: "node", context: { cluster: "cluster", user } }],
    "current-context": "node",
  };
  return `${JSON.stringify(kubeconfig, undefined, 2)}\n`;
}

/** Server and authority of such a text; undefined where it is another one. */
export function parseNodeKubeconfig(text: string): { server: string; ca: string | undefined } | undefined {
  let parsed: { clusters?: { cluster?: Record<string, unknown> }[] };
  try {
    parsed = JSON.parse(text);
  } catch {
    // Not ours, or half of ours: whoever asks then gets a new one.
    return undefined;
  }
  const cluster = parsed.clusters?.[0]?.cluster;
  const data = cluster?.["certificate-authority-data"];
  if (typeof cluster?.server !== "string") return undefined;
  return {
    server: cluster.server,
    ca: typeof data === "string" ? Buffer.from(data, "base64").toString("utf8") : undefined,
  };
}
