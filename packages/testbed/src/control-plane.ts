import { type SiteLayout, siteFiles } from "./site-layout.ts";

export type ControlPlaneComponent = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler";

export const controlPlaneComponents: readonly ControlPlaneComponent[] = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
];

/** The arguments of each component, as a pure function of the site's layout. */
export const componentArguments: Readonly<Record<ControlPlaneComponent, (layout: SiteLayout) => string[]>> = {
  etcd: etcdArguments,
  "kube-apiserver": apiserverArguments,
  "kube-controller-manager": controllerManagerArguments,
  "kube-scheduler": schedulerArguments,
};

function etcdArguments(layout: SiteLayout): string[] {
  const files = siteFiles(layout);
  const client = `https://127.0.0.1:${layout.ports.etcd}`;
  const peer = `https://127.0.0.1:${layout.ports.etcdPeer}`;
  return flags({
    name: layout.name,
    "data-dir": files.etcdData,
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": `${layout.name}=${peer}`,
    // Whoever reaches etcd owns the cluster, so loopback is not enough on a machine with other users.
    "client-cert-auth": "true",
    "trusted-ca-file": files.certificate("etcd-ca"),
    "cert-file": files.certificate("etcd"),
    "key-file": files.key("etcd"),
    "peer-client-cert-auth": "true",
    "peer-trusted-ca-file": files.certificate("etcd-ca"),
    "peer-cert-file": files.certificate("etcd"),
    "peer-key-file": files.key("etcd"),
    // The data lives no longer than the machine is up; waiting for its disk would only slow tests down.
    "unsafe-no-fsync": "true",
    // Without it the API server has no bookmarks to send for kinds that do not change.
    "watch-progress-notify-interval": "5s",
    "log-level": "warn",
  });
}

function apiserverArguments(layout: SiteLayout): string[] {
  const files = siteFiles(layout);
  return flags({
    "bind-address": layout.address,
    "advertise-address": layout.address,
    "secure-port": layout.ports.apiserver,
    "tls-cert-file": files.certificate("kube-apiserver"),
    "tls-private-key-file": files.key("kube-apiserver"),
    "client-ca-file": files.certificate("ca"),
    "etcd-servers": `https://127.0.0.1:${layout.ports.etcd}`,
    "etcd-cafile": files.certificate("etcd-ca"),
    "etcd-certfile": files.certificate("etcd-client"),
    "etcd-keyfile": files.key("etcd-client"),
    "service-cluster-ip-range": layout.serviceCidrs.join(","),
    "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
    "service-account-key-file": files.serviceAccountPublicKey,
    "service-account-signing-key-file": files.key("service-account"),
    "authorization-mode": "Node,RBAC",
    "enable-admission-plugins": "NodeRestriction",
    "enable-bootstrap-token-auth": "true",
    "allow-privileged": "true",
    // A loopback address may not be an endpoint; on a bridge the pods need it to find the API.
    "endpoint-reconciler-type": layout.nodeNetwork === undefined ? "none" : "lease",
    "kubelet-client-certificate": files.certificate("kubelet-client"),
    "kubelet-client-key": files.key("kubelet-client"),
    // Without it logs and exec look the node's name up in DNS.
    "kubelet-preferred-address-types": "InternalIP",
    "requestheader-client-ca-file": files.certificate("front-proxy-ca"),
    "requestheader-allowed-names": "front-proxy-client",
    "requestheader-extra-headers-prefix": "X-Remote-Extra-",
    "requestheader-group-headers": "X-Remote-Group",
    "requestheader-username-headers": "X-Remote-User",
    "proxy-client-cert-file": files.certificate("front-proxy-client"),
    "proxy-client-key-file": files.key("front-proxy-client"),
    // The host has no kube-proxy, so that the API server must reach aggregated APIs by endpoint.
    "enable-aggregator-routing": "true",
  });
}

function controllerManagerArguments(layout: SiteLayout): string[] {
  const files = siteFiles(layout);
  return flags({
    ...clientArguments(layout, "kube-controller-manager", layout.ports.controllerManager),
    "cluster-name": layout.name,
    "cluster-cidr": layout.podCidrs.join(","),
    "service-cluster-ip-range": layout.serviceCidrs.join(","),
    "allocate-node-cidrs": "true",
    "use-service-account-credentials": "true",
    "root-ca-file": files.certificate("ca"),
    "cluster-signing-cert-file": files.certificate("ca"),
    "cluster-signing-key-file": files.key("ca"),
    "service-account-private-key-file": files.key("service-account"),
    // Its 15 s are meant for clusters with hundreds of autoscalers.
    "horizontal-pod-autoscaler-sync-period": "5s",
  });
}

function schedulerArguments(layout: SiteLayout): string[] {
  return flags(clientArguments(layout, "kube-scheduler", layout.ports.scheduler));
}

function clientArguments(layout: SiteLayout, name: string, port: number): Record<string, string | number> {
  const files = siteFiles(layout);
  const kubeconfig = files.kubeconfig(name);
  return {
    kubeconfig,
    "authentication-kubeconfig": kubeconfig,
    "authorization-kubeconfig": kubeconfig,
    "client-ca-file": files.certificate("ca"),
    "requestheader-client-ca-file": files.certificate("front-proxy-ca"),
    "bind-address": "127.0.0.1",
    "secure-port": port,
    "tls-cert-file": files.certificate(name),
    "tls-private-key-file": files.key(name),
    "leader-elect": "false",
    // The defaults of 20 to 50 requests a second would be what a benchmark measures.
    "kube-api-qps": 500,
    "kube-api-burst": 1000,
  };
}

function flags(values: Record<string, string | number>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

/** Those of a site of Kubernetes, in the order in which they are started. */
export function siteComponents(layout: SiteLayout): readonly ControlPlaneComponent[] {
  return layout.components === "all" ? controlPlaneComponents : controlPlaneComponents.slice(0, 2);
}
