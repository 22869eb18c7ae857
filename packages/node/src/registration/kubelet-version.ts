/** The newest Kubernetes whose kubelet this node stands in for. */
const NEWEST_MINOR = 36;

/**
 * What `status.nodeInfo.kubeletVersion` says. Clients compare it with the API server's, and a kubelet must not be newer
 * than that; what follows the plus sign does not count in comparisons, unlike what would follow a hyphen.
 */
export function kubeletVersion(serverVersion: string | undefined, fjordVersion: string): string {
  const minor = Number(/^v?1\.(\d+)/.exec(serverVersion ?? "")?.[1] ?? NEWEST_MINOR);
  return `v1.${Math.min(minor, NEWEST_MINOR)}.0+fjord.${fjordVersion}`;
}
