/**
 * Annotations by which a Service chooses the address, or the balancer, that it is reached at, as known controllers read them. What is there
 * may be another's, and means nothing at another site.
 */
export const ADDRESS_ANNOTATIONS: readonly string[] = [
  "metallb.io/loadBalancerIPs",
  "metallb.universe.tf/loadBalancerIPs",
  "metallb.io/allow-shared-ip",
  "metallb.universe.tf/allow-shared-ip",
  "lbipam.cilium.io/ips",
  "lbipam.cilium.io/sharing-key",
  "lbipam.cilium.io/sharing-cross-namespace",
  "io.cilium/lb-ipam-ips",
  "io.cilium/lb-ipam-sharing-key",
  "io.cilium/lb-ipam-sharing-cross-namespace",
  "kube-vip.io/loadbalancerIPs",
  "networking.gke.io/load-balancer-ip-addresses",
  "service.beta.kubernetes.io/aws-load-balancer-eip-allocations",
  "service.beta.kubernetes.io/aws-load-balancer-private-ipv4-addresses",
  "service.beta.kubernetes.io/aws-load-balancer-ipv6-addresses",
  "service.beta.kubernetes.io/azure-load-balancer-ipv4",
  "service.beta.kubernetes.io/azure-load-balancer-ipv6",
  "service.beta.kubernetes.io/azure-pip-name",
  "loadbalancer.openstack.org/load-balancer-id",
  "loadbalancer.openstack.org/load-balancer-address",
];
