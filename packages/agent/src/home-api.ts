import { isIP } from "node:net";
import { EndpointSlice, ifNotFound, type KubeClient, Service } from "@fjord/kube";

/** Where a Kubernetes API is reached, as containers are told it. */
export interface HomeApi {
  readonly host: string;
  readonly port: string;
}

const API_SERVICE = { name: "kubernetes", namespace: "default" } as const;

/**
 * Where pods at other sites may reach this site's API: the address that the agent uses itself, unless that leads there from
 * inside the cluster only; then the address that the API server announces. Undefined where neither leads anywhere.
 */
export async function discoverHomeApi(
  client: Pick<KubeClient, "get" | "list">,
  server: string,
  signal?: AbortSignal,
): Promise<HomeApi | undefined> {
  const [service, { items }] = await Promise.all([
    apiService(client, signal),
    client.list(EndpointSlice, {
      namespace: API_SERVICE.namespace,
      labelSelector: `kubernetes.io/service-name=${API_SERVICE.name}`,
      signal,
    }),
  ]);
  const inside = [service?.spec?.clusterIP ?? "", ...(service?.spec?.clusterIPs ?? [])];
  const announced = items.flatMap(({ endpoints = [], ports }) =>
    endpoints.flatMap(({ addresses }) => addresses.map((host) => ({ host, port: String(ports?.[0]?.port ?? 443) }))),
  );
  return [addressOf(server), ...announced].find(({ host }) => !inside.includes(host) && leadsHere(host));
}

/** The address that the own cluster gave the way to its API: on loopback where pods are processes of this machine. */
export async function serviceAddress(client: Pick<KubeClient, "get">, signal?: AbortSignal): Promise<string> {
  return (await apiService(client, signal))?.spec?.clusterIP ?? "";
}

async function apiService(client: Pick<KubeClient, "get">, signal?: AbortSignal): Promise<Service | undefined> {
  return await client.get(Service, API_SERVICE, { signal }).catch(ifNotFound);
}

function addressOf(server: string): HomeApi {
  const { hostname, port } = new URL(server);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port || "443" };
}

/** Whether a name or address means the same place for everybody. */
function leadsHere(host: string): boolean {
  if (isIP(host) === 0) return host !== "localhost" && !/^kubernetes(\.|$)/.test(host) && !/\.svc(\.|$)/.test(host);
  return !/^(127\.|169\.254\.|0\.0\.0\.0$|::1?$|fe80:)/i.test(host);
}
