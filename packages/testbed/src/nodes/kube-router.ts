import type { Kind } from "@fjord/base";
import type { SiteLayout } from "../site-layout.ts";
import type { KindAndObject } from "./core-dns.ts";
import { isIpv6, type NodePlan } from "./network-plan.ts";
import { inside } from "./node-scripts.ts";

/** What gives pods their network: CNI's own plugins and routes that never change, or kube-router, which enforces NetworkPolicies. */
export const podNetworks = ["plain", "kube-router"] as const;

export type PodNetwork = (typeof podNetworks)[number];

/** Whom its kubeconfig is for. */
export const KUBE_ROUTER_USER = "system:kube-router";

/** As its documentation has it: a bridge for the pods of a node. */
export function kubeRouterCni(podCidrs: readonly string[]): string {
  const ranges = podCidrs.map((subnet) => [{ subnet }]);
  const bridge = { type: "bridge", bridge: "kube-bridge", isDefaultGateway: true, hairpinMode: true };
  return JSON.stringify(
    {
      cniVersion: "0.4.0",
      name: "kube-router",
      plugins: [
        { ...bridge, ipam: { type: "host-local", ranges } },
        { type: "portmap", capabilities: { snat: true, portMappings: true } },
      ],
    },
    undefined,
    2,
  );
}

/** Its command, as the node sees it: routes and firewall, while Services are kube-proxy's. */
export function kubeRouterCommand(
  node: Pick<NodePlan, "name" | "address" | "podCidrs">,
  layout: Pick<SiteLayout, "serviceCidrs">,
  kubeconfig: string,
): string[] {
  const has = (ipv6: boolean) => node.podCidrs.some((range) => isIpv6(range) === ipv6);
  return [
    ...withTablesOfItsOwn,
    inside.program("kube-router"),
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${node.name}`,
    `--router-id=${node.address}`,
    "--run-service-proxy=false",
    "--run-router=true",
    "--run-firewall=true",
    "--enable-cni=false",
    "--enable-overlay=false",
    // Another node may have had no address yet when it was first seen: then it is looked at again, by default five minutes later.
    "--routes-sync-period=5s",
    `--enable-ipv4=${has(false)}`,
    `--enable-ipv6=${has(true)}`,
    ...layout.serviceCidrs.map((range) => `--service-cluster-ip-range=${range}`),
    "--health-port=0",
  ];
}

/** It writes names of tables into the machine's /etc: a node has a copy of that folder. */
const withTablesOfItsOwn = [
  "sh",
  "-c",
  `if [ ! -e /run/iproute2 ] && [ -d /etc/iproute2 ]; then
  cp -r /etc/iproute2 /run/iproute2
  mount --bind /run/iproute2 /etc/iproute2
fi
exec "$@"`,
  "sh",
];

/** What it may read, and what it notes at nodes. */
export function kubeRouterRights(): KindAndObject[] {
  const metadata = { name: "fjord-testbed:kube-router" };
  const apiGroup = "rbac.authorization.k8s.io";
  const apiVersion = `${apiGroup}/v1`;
  const verbs = ["list", "get", "watch"];
  const rules = [
    { apiGroups: [""], resources: ["namespaces", "pods", "services", "nodes", "endpoints"], verbs },
    { apiGroups: [""], resources: ["nodes"], verbs: ["patch", "update"] },
    { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs },
  ];
  const roleRef = { apiGroup, kind: "ClusterRole", name: metadata.name };
  const subjects = [{ kind: "User", apiGroup, name: KUBE_ROUTER_USER }];
  return [
    { kind: kind("ClusterRole"), object: { apiVersion, kind: "ClusterRole", metadata, rules } },
    {
      kind: kind("ClusterRoleBinding"),
      object: { apiVersion, kind: "ClusterRoleBinding", metadata, roleRef, subjects },
    },
  ];
}

function kind(name: string): Kind {
  return {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: name,
    plural: `${name.toLowerCase()}s`,
    namespaced: false,
  };
}
