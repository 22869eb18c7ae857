import { imageNames } from "./images.ts";
/** Names outside the cluster do not exist: there is no way out, and a question without an answer costs seconds. */
const corefile = `cluster.local in-addr.arpa ip6.arpa {
  errors
  health
  ready
  kubernetes {
    pods insecure
    ttl 5
  }
  loadbalance
}
. {
  errors
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;
const namespace = "kube-system";
const name = "coredns";
const labels = { "k8s-app": "kube-dns" };
/** Cluster DNS as every cluster has it: CoreDNS in a Deployment, behind the service `kube-dns`. */
export function coreDns(dnsServiceAddress) {
    return [
        {
            kind: kinds.serviceAccounts,
            object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
        },
        { kind: kinds.clusterRoles, object: clusterRole() },
        { kind: kinds.clusterRoleBindings, object: clusterRoleBinding() },
        {
            kind: kinds.configMaps,
            object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { Corefile: corefile } },
        },
        { kind: kinds.services, object: service(dnsServiceAddress) },
        { kind: kinds.deployments, object: deployment() },
    ];
}
function clusterRole() {
    return {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: "system:coredns" },
        rules: [
            { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
            { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
        ],
    };
}
function clusterRoleBinding() {
    return {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "system:coredns" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:coredns" },
        subjects: [{ kind: "ServiceAccount", name, namespace }],
    };
}
function service(clusterIP) {
    return {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "kube-dns", namespace, labels },
        spec: {
            clusterIP,
            selector: labels,
            ports: [
                { name: "dns", port: 53, protocol: "UDP" },
                { name: "dns-tcp", port: 53, protocol: "TCP" },
            ],
        },
    };
}
function deployment() {
    const container = {
        name,
        image: imageNames.coreDns,
        args: ["-conf", "/etc/coredns/Corefile"],
        ports: [
            { name: "dns", containerPort: 53, protocol: "UDP" },
            { name: "dns-tcp", containerPort: 53, protocol: "TCP" },
        ],
        readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
        livenessProbe: { httpGet: { path: "/health", port: 8080 }, initialDelaySeconds: 30 },
        volumeMounts: [{ name: "config", mountPath: "/etc/coredns" }],
    };
    return {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, namespace, labels },
        spec: {
            replicas: 1,
            selector: { matchLabels: labels },
            template: {
                metadata: { labels },
                spec: {
                    serviceAccountName: name,
                    priorityClassName: "system-cluster-critical",
                    dnsPolicy: "Default",
                    tolerations: [{ operator: "Exists" }],
                    containers: [container],
                    volumes: [{ name: "config", configMap: { name } }],
                },
            },
        },
    };
}
const rbac = "rbac.authorization.k8s.io";
const kinds = {
    serviceAccounts: kindOf("", "ServiceAccount", "serviceaccounts", true),
    configMaps: kindOf("", "ConfigMap", "configmaps", true),
    services: kindOf("", "Service", "services", true),
    deployments: kindOf("apps", "Deployment", "deployments", true),
    clusterRoles: kindOf(rbac, "ClusterRole", "clusterroles", false),
    clusterRoleBindings: kindOf(rbac, "ClusterRoleBinding", "clusterrolebindings", false),
};
function kindOf(group, kind, plural, namespaced) {
    return { group, version: "v1", kind, plural, namespaced };
}
