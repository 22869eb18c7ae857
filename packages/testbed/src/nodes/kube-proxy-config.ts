import { isIpv6 } from "./network-plan.ts";

export interface KubeProxyOptions {
  node: string;
  podCidrs: readonly string[];
  /** Path, as the node sees it. */
  kubeconfig: string;
}

/** The configuration of kube-proxy in a network namespace of its own. */
export function kubeProxyConfig(options: KubeProxyOptions) {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    hostnameOverride: options.node,
    clusterCIDR: options.podCidrs.join(","),
    clientConnection: { kubeconfig: options.kubeconfig },
    bindAddress: isIpv6(options.podCidrs[0] ?? "") ? "::" : "0.0.0.0",
    // A second, the default, is how long a new endpoint may stay unknown.
    nftables: { minSyncPeriod: "100ms" },
    // These limits are the machine's, and outside its first network namespace they cannot be set.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  };
}
