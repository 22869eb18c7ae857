import { EndpointSlice, isNotFound, type KubeClient, Service, ServiceCIDR } from "@fjord/kube";

/** As wide as clusters commonly have them, where the cluster does not say. */
const USUAL = { 4: 16, 6: 112 } as const;

const API = { name: "kubernetes", namespace: "default" } as const;

/** Where the own Services have their addresses: by ServiceCIDR objects, or around the address of the API on older clusters. And where the API itself is, which may be no node's address. */
export async function serviceRanges(
  client: Pick<KubeClient, "get" | "list">,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const [services, api] = await Promise.all([rangesOfServices(client, signal), placesOfApi(client, signal)]);
  return [...services, ...api];
}

async function placesOfApi(client: Pick<KubeClient, "get">, signal?: AbortSignal): Promise<string[]> {
  const slice = await client.get(EndpointSlice, API, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  const addresses = (slice?.endpoints ?? []).flatMap((each) => each.addresses ?? []);
  return addresses.map((address) => `${address}/${address.includes(":") ? 128 : 32}`);
}

async function rangesOfServices(
  client: Pick<KubeClient, "get" | "list">,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const found = await client.list(ServiceCIDR, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return { items: [] };
  });
  const ranges = found.items.flatMap(({ spec }) => spec?.cidrs ?? []);
  if (ranges.length > 0) return ranges;
  const service = await client.get(Service, API, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  return (service?.spec?.clusterIPs ?? []).map(
    (address) => `${address}/${address.includes(":") ? USUAL[6] : USUAL[4]}`,
  );
}
