import type { ClusterConfig } from "./cluster-config.ts";
import { execClusterOf, resolveCluster } from "./cluster-section.ts";
import type { ChosenContext } from "./context.ts";
import type { CredentialSources } from "./credentials.ts";
import { impersonationHeaders } from "./impersonation.ts";
import { resolveUser } from "./user-section.ts";

/** Looks up everything that a context names: files are read, certificates checked. */
export async function resolveContext(chosen: ChosenContext, sources: CredentialSources): Promise<ClusterConfig> {
  const cluster = await resolveCluster(chosen.cluster);
  const user =
    chosen.user === undefined
      ? { tls: {} }
      : await resolveUser(chosen.user, execClusterOf(chosen.cluster, cluster), sources);
  return {
    ...cluster,
    namespace: chosen.namespace,
    tls: { ...cluster.tls, ...user.tls },
    ...(user.credentials === undefined ? {} : { credentials: user.credentials }),
    ...(user.impersonation === undefined ? {} : { headers: impersonationHeaders(user.impersonation) }),
  };
}
