import { delimiter, join } from "node:path";
import { silentLogger, systemClock } from "@fjord/base";
import type { ClusterConfig } from "./cluster-config.ts";
import { type ContextChoice, chooseContext } from "./context.ts";
import type { CredentialSources } from "./credentials.ts";
import { ContextUnknown, NoClusterConfig } from "./errors.ts";
import { type InClusterOptions, inClusterConfig, isInCluster } from "./in-cluster.ts";
import { isEmptyKubeconfig, type Kubeconfig, readKubeconfigs } from "./kubeconfig.ts";
import { proxyFromEnvironment } from "./proxy-environment.ts";
import { resolveContext } from "./resolve-context.ts";

export interface LoadOptions
  extends ContextChoice,
    InClusterOptions,
    Pick<CredentialSources, "interactive" | "execTimeoutMs"> {
  /** Files to read instead of the usual ones, the most important first; each must exist. */
  readonly kubeconfig?: string | readonly string[];
  /** The user's home directory. */
  readonly home?: string;
}

/**
 * Finds out how to reach a cluster, as kubectl does: from the files named, else from KUBECONFIG, else from
 * ~/.kube/config, else from the pod that this process runs in.
 */
export async function loadClusterConfig(options: LoadOptions): Promise<ClusterConfig> {
  const config = await findConfig(options);
  const proxy = config.proxy ?? proxyFromEnvironment(config.server, options.env);
  return proxy === undefined ? config : { ...config, proxy };
}

async function findConfig(options: LoadOptions): Promise<ClusterConfig> {
  const { env, clock = systemClock, logger = silentLogger } = options;
  const kubeconfig = await findKubeconfig(options);
  if (kubeconfig !== undefined)
    return resolveContext(chooseContext(kubeconfig, options), { ...options, clock, logger });
  // Whoever names a context does not want the pod's own cluster instead.
  if (options.context !== undefined) {
    const files = usualPlaces(options).join(", ") || "any kubeconfig";
    throw new ContextUnknown({ context: options.context, files, suggestion: "", known: "none" });
  }
  if (isInCluster(env)) {
    const config = await inClusterConfig(options);
    return options.namespace === undefined ? config : { ...config, namespace: options.namespace };
  }
  throw new NoClusterConfig({ looked: [...usualPlaces(options), "the environment of a pod"].join(", ") });
}

async function findKubeconfig(options: LoadOptions): Promise<Kubeconfig | undefined> {
  if (options.kubeconfig !== undefined) return readKubeconfigs([options.kubeconfig].flat());
  const kubeconfig = await readKubeconfigs(usualPaths(options), { ignoreMissing: true });
  return isEmptyKubeconfig(kubeconfig) ? undefined : kubeconfig;
}

function usualPaths({ env, home }: LoadOptions): string[] {
  const listed = (env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  if (listed.length > 0) return [...new Set(listed)];
  return home ? [join(home, ".kube", "config")] : [];
}

function usualPlaces(options: LoadOptions): string[] {
  return options.env.KUBECONFIG ? [`KUBECONFIG (${options.env.KUBECONFIG})`] : usualPaths(options);
}
