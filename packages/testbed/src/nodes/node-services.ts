import type { Kind } from "@fjord/base";
import type { Substrate } from "../binaries/versions.ts";
import { coreDns, type KindAndObject } from "./core-dns.ts";
import type { Kubelet } from "./kubelet-command.ts";

/** Who serves Services and names on a site's nodes: kube-proxy and CoreDNS, or Fjord's node itself. */
export type NodeServices = "kube-proxy" | "node";

/** What runs the pods of a site where nobody says: on Fjord's own control plane, its own node. */
export function usualKubelet(substrate: Substrate): Kubelet {
  return substrate === "microkube" ? "fjord" : "kubernetes";
}

/** A site of Fjord's own parts has no others: what judges a node on Kubernetes changes the node alone. */
export function nodeServices(substrate: Substrate, kubelet: Kubelet): NodeServices {
  return substrate === "microkube" && kubelet === "fjord" ? "node" : "kube-proxy";
}

/** What the cluster has to hold for it. */
export function serviceObjects(services: NodeServices, dnsServiceAddress: string): KindAndObject[] {
  return services === "node" ? nodeRights() : coreDns(dnsServiceAddress);
}

/** A kubelet may not read what its node has to serve. */
function nodeRights(): KindAndObject[] {
  const name = "fjord:node-services";
  const [apiGroup, apiVersion] = [rbac, `${rbac}/v1`];
  const verbs = ["list", "watch"];
  const rules = [
    { apiGroups: [""], resources: ["services", "namespaces"], verbs },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs },
  ];
  const subjects = [{ kind: "Group", apiGroup, name: "system:nodes" }];
  const roleRef = { apiGroup, kind: "ClusterRole", name };
  return [
    { kind: kind("ClusterRole"), object: { apiVersion, kind: "ClusterRole", metadata: { name }, rules } },
    {
      kind: kind("ClusterRoleBinding"),
      object: { apiVersion, kind: "ClusterRoleBinding", metadata: { name }, roleRef, subjects },
    },
  ];
}

const rbac = "rbac.authorization.k8s.io";

function kind(name: string): Kind {
  return { group: rbac, version: "v1", kind: name, plural: `${name.toLowerCase()}s`, namespaced: false };
}
