import { isIP } from "node:net";
import type { KubeObject } from "@fjord/base";
import type { ClusterCredentials } from "./authentication/index.ts";
import type { Cluster } from "./cluster.ts";
import { typeOf } from "./cluster-objects.ts";

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** The namespaces that every cluster has. */
export async function ensureNamespaces(cluster: Cluster): Promise<void> {
  await Promise.all(
    NAMESPACES.map((name) => ensure(cluster, { apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  );
}

/** How aggregated servers know requests that come through this one. */
export async function ensureAuthenticationConfig(cluster: Cluster, credentials: ClusterCredentials): Promise<void> {
  const data = {
    "client-ca-file": credentials.clusterCa.certificate,
    "requestheader-allowed-names": JSON.stringify(["front-proxy-client"]),
    "requestheader-client-ca-file": credentials.frontProxyCa.certificate,
    "requestheader-extra-headers-prefix": JSON.stringify(["X-Remote-Extra-"]),
    "requestheader-group-headers": JSON.stringify(["X-Remote-Group"]),
    "requestheader-uid-headers": JSON.stringify(["X-Remote-Uid"]),
    "requestheader-username-headers": JSON.stringify(["X-Remote-User"]),
  };
  const metadata = { name: "extension-apiserver-authentication", namespace: "kube-system" };
  await ensure(cluster, { apiVersion: "v1", kind: "ConfigMap", metadata, data } as KubeObject);
}

export interface ApiAddress {
  /** Where pods reach the API; undefined where nothing is known of that. */
  readonly advertised: string | undefined;
  readonly port: number;
}

/** The service `kubernetes`, by which pods find the API. */
export async function ensureApiService(
  cluster: Cluster,
  { advertised, port, clusterIP }: ApiAddress & { readonly clusterIP: string },
): Promise<void> {
  const metadata = { name: "kubernetes", namespace: "default" };
  const spec = {
    clusterIP,
    ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: port }],
    sessionAffinity: "None",
    type: "ClusterIP",
  };
  const labels = { component: "apiserver", provider: "kubernetes" };
  await ensure(cluster, { apiVersion: "v1", kind: "Service", metadata: { ...metadata, labels }, spec } as KubeObject);
  if (advertised === undefined) return;
  const subsets = [{ addresses: [{ ip: advertised }], ports: [{ name: "https", port, protocol: "TCP" }] }];
  const endpoints = {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { ...metadata, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
    subsets,
  };
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "kubernetes" } },
    addressType: isIP(advertised) === 6 ? "IPv6" : "IPv4",
    endpoints: [{ addresses: [advertised], conditions: { ready: true } }],
    ports: [{ name: "https", port, protocol: "TCP" }],
  };
  await Promise.all([ensure(cluster, endpoints as KubeObject), ensure(cluster, slice as KubeObject)]);
}

/** Makes an object where there is none, and gives an old one the content that it should have. */
async function ensure(cluster: Cluster, wanted: KubeObject): Promise<void> {
  const group = wanted.apiVersion.includes("/") ? (wanted.apiVersion.split("/")[0] ?? "") : "";
  const type = typeOf(cluster, group, wanted.kind);
  const { name = "", namespace = "" } = wanted.metadata;
  if (cluster.get(type, namespace, name) === undefined) {
    await cluster.create(type, namespace, wanted);
    return;
  }
  if (wanted.kind === "Namespace" || wanted.kind === "Service") return;
  const { metadata: _, ...content } = wanted;
  await cluster.modify(type, namespace, name, (object) => ({ ...object, ...content }));
}
