import { isIPv6 } from "node:net";
import { join } from "node:path";
import { type Clock, type Logger, silentLogger, systemClock } from "@fjord/base";
import type { ClusterConfig } from "./cluster-config.ts";
import { InClusterUnusable } from "./errors.ts";
import { certificateProblem } from "./pem.ts";
import { readTextFile } from "./read-text-file.ts";
import { checkServerUrl } from "./server-url.ts";
import { systemReason } from "./system-reason.ts";
import { TokenFile } from "./token-file.ts";

export interface InClusterOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** @default "/var/run/secrets/kubernetes.io/serviceaccount" */
  readonly serviceAccountDirectory?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Whether the environment is that of a pod. */
export function isInCluster(env: InClusterOptions["env"]): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT);
}

/** The configuration that Kubernetes gives to every pod: service account, its namespace and the cluster's own address. */
export async function inClusterConfig(options: InClusterOptions): Promise<ClusterConfig> {
  const { env, clock = systemClock, logger = silentLogger } = options;
  const directory = options.serviceAccountDirectory ?? "/var/run/secrets/kubernetes.io/serviceaccount";
  const server = serviceUrl(env);
  const credentials = new TokenFile({
    path: join(directory, "token"),
    where: "in-cluster configuration",
    clock,
    logger,
  });
  await credentials.current();
  const ca = await readCa(join(directory, "ca.crt"));
  const namespace = await readTextFile(join(directory, "namespace")).catch((error: unknown) => {
    logger.debug("no namespace file beside the service account token", { reason: systemReason(error) });
    return "";
  });
  return { server, namespace: namespace.trim() || "default", tls: { ca }, credentials };
}

function serviceUrl(env: InClusterOptions["env"]): string {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new InClusterUnusable({
      reason: "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; this is not a pod",
    });
  }
  const check = checkServerUrl(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`, true);
  if ("url" in check) return check.url;
  throw new InClusterUnusable({
    reason: `KUBERNETES_SERVICE_HOST ${host} and KUBERNETES_SERVICE_PORT ${port} make no address`,
  });
}

async function readCa(path: string): Promise<string> {
  const ca = await readTextFile(path).catch((error: unknown) => {
    throw new InClusterUnusable({ reason: `cannot read ${path}: ${systemReason(error)}` }, { cause: error });
  });
  const problem = certificateProblem(ca);
  if (problem !== undefined) throw new InClusterUnusable({ reason: `${path}: ${problem}` });
  return ca;
}
