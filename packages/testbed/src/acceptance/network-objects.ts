import assert from "node:assert/strict";
import { CONSUMER_LABEL, Link, Site as SiteKind } from "@fjord/api";
import type { KubeObject } from "@fjord/base";
import { EndpointSlice, isNotFound, type KubeClient, Node, Pod, type Service } from "@fjord/kube";
import { eventually } from "./acceptance-bed.ts";

/** A Node that nothing runs on, for its address. */
export async function makeNode(client: KubeClient, name: string, address: string): Promise<void> {
  const taints = [{ key: "example.com/gateway", effect: "NoSchedule" }];
  await client.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name }, spec: { taints } } as Node);
  const status = { addresses: [{ type: "InternalIP", address }] };
  await client.patch(Node, { name }, "merge", { status }, { subresource: "status" });
}

/** The node that carries the links of a site. */
export async function gatewayNode(client: KubeClient, site: string): Promise<string | undefined> {
  return (await client.get(SiteKind, { name: site })).status?.gateway?.node;
}

/** The Link with a peer, once somebody is in it. */
export async function link(client: KubeClient, peer: string): Promise<Link> {
  return await eventually("the link is there, with its groups", async () => {
    const found = await find(client, Link, peer);
    return found !== undefined && found.spec.groups.length > 0 && found;
  });
}

export async function idOf(client: KubeClient, name: string): Promise<string> {
  return (await client.get(SiteKind, { name })).status?.id ?? "";
}

/** Undefined where there is none. */
export async function find<T extends KubeObject>(
  client: KubeClient,
  kind: Parameters<typeof client.get<T>>[0],
  name: string,
): Promise<T | undefined> {
  return await client.get<T>(kind, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
}

export async function podsOf(client: KubeClient, inNamespace: string): Promise<Pod[]> {
  return (await client.list(Pod, { namespace: inNamespace })).items;
}

/** The first pod of a consumer's that runs at a provider. */
export async function guest(provider: KubeClient): Promise<Pod> {
  const { items } = await provider.list(Pod, { labelSelector: CONSUMER_LABEL });
  assert.ok(items[0], "nobody has a pod there");
  return items[0];
}

/** Endpoints that connections are led to. */
export async function readyAddresses(client: KubeClient, inNamespace: string, service = "web"): Promise<string[]> {
  const endpoints = await endpointsOf(client, inNamespace, service);
  return endpoints.filter(({ conditions }) => conditions?.ready !== false).flatMap(({ addresses }) => addresses);
}

/** All endpoints, ready or not. */
export async function serviceAddresses(client: KubeClient, inNamespace: string, service = "web"): Promise<string[]> {
  return (await endpointsOf(client, inNamespace, service)).flatMap(({ addresses }) => addresses);
}

async function endpointsOf(client: KubeClient, namespace: string, service: string) {
  const labelSelector = `kubernetes.io/service-name=${service}`;
  const { items } = await client.list(EndpointSlice, { namespace, labelSelector });
  return items.flatMap(({ endpoints }) => endpoints ?? []);
}

export function serviceOf(name: string, inNamespace: string): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: inNamespace },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  };
}
