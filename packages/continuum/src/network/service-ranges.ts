import { isNotFound, type KubeClient, Service, ServiceCIDR } from "@fjord/kube";

/** As wide as clusters commonly have them, where the cluster does not say. */
const USUAL = { 4: 16, 6: 112 } as const;

/** Where the own Services have their addresses: by ServiceCIDR objects, or around the address of the API on older clusters. */
export async function serviceRanges(
  client: Pick<KubeClient, "get" | "list">,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const found = await client.list(ServiceCIDR, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return { items: [] };
  });
  const ranges = found.items.flatMap(({ spec }) => spec?.cidrs ?? []);
  if (ranges.length > 0) return ranges;
  const key = { name: "kubernetes", namespace: "default" };
  const service = await client.get(Service, key, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  return (service?.spec?.clusterIPs ?? []).map(
    (address) => `${address}/${address.includes(":") ? USUAL[6] : USUAL[4]}`,
  );
}
