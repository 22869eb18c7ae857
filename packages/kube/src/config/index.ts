export type { ClusterConfig, Credential, Credentials, TlsConfig } from "./cluster-config.ts";
export { type ChosenContext, type ContextChoice, chooseContext } from "./context.ts";
export { basicAuthentication, bearerToken, type CredentialSources, type WritableCredentials } from "./credentials.ts";
export { clusterConfig, type DirectOptions } from "./direct-config.ts";
export * from "./errors.ts";
export { type Impersonation, impersonationHeaders } from "./impersonation.ts";
export { type InClusterOptions, inClusterConfig, isInCluster } from "./in-cluster.ts";
export {
  isEmptyKubeconfig,
  type Kubeconfig,
  mergeKubeconfigs,
  parseKubeconfig,
  readKubeconfigs,
} from "./kubeconfig.ts";
export { kubeconfigOf } from "./kubeconfig-of.ts";
export { type LoadOptions, loadClusterConfig } from "./load.ts";
export { resolveContext } from "./resolve-context.ts";
export { TokenFile, type TokenFileOptions } from "./token-file.ts";
