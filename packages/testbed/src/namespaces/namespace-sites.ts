import type { NetworkNamespaces } from "./network-namespaces.ts";
import { hidePods } from "./site-network.ts";

/** A site of one gateway and some pods, each a network namespace. */
export interface NamespaceSite {
  readonly name: string;
  /** Of the gateway, where others reach it. */
  readonly address: string;
  /** The gateway's namespace. */
  readonly gateway: string;
  /** Pods by their namespace's name: addresses of both families. */
  readonly pods: ReadonlyMap<string, { readonly ipv4: string; readonly ipv6: string }>;
}

/** Every site has the same ones. */
export const POD_RANGES = ["10.42.0.0/16", "fd42::/64"] as const;

/** Sites whose gateways are on one wire, all with the same ranges of pods. Nothing but the wire connects them. */
export async function namespaceSites(
  namespaces: NetworkNamespaces,
  podsOf: Readonly<Record<string, number>>,
): Promise<NamespaceSite[]> {
  await namespaces.add("wan");
  await namespaces.ip("wan", "link", "add", "wire", "type", "bridge");
  await namespaces.ip("wan", "link", "set", "dev", "wire", "up");
  const sites: NamespaceSite[] = [];
  for (const [index, [name, count]] of Object.entries(podsOf).entries()) {
    const gateway = `${name}-gw`;
    const address = `192.0.2.${index + 1}`;
    await namespaces.add(gateway);
    await namespaces.cable(gateway, "eth0", "wan", name);
    await namespaces.ip("wan", "link", "set", "dev", name, "master", "wire");
    await namespaces.ip(gateway, "address", "add", `${address}/24`, "dev", "eth0");
    await namespaces.ip(gateway, "link", "add", "pods", "type", "bridge");
    await namespaces.ip(gateway, "link", "set", "dev", "pods", "up");
    await namespaces.ip(gateway, "address", "add", "10.42.0.1/16", "dev", "pods");
    await namespaces.ip(gateway, "-6", "address", "add", "fd42::1/64", "dev", "pods", "nodad");
    const [ipv4, ipv6] = POD_RANGES;
    await hidePods(
      namespaces,
      gateway,
      `ip saddr ${ipv4} ip daddr != ${ipv4}`,
      `ip6 saddr ${ipv6} ip6 daddr != ${ipv6}`,
    );
    const pods = new Map<string, { ipv4: string; ipv6: string }>();
    for (let i = 1; i <= count; i++) {
      const number = 10 * (index + 1) + i;
      const pod = { ipv4: `10.42.0.${number}`, ipv6: `fd42::${number.toString(16)}` };
      pods.set(`${name}${i}`, pod);
      await addPod(namespaces, gateway, `${name}${i}`, pod);
    }
    sites.push({ name, address, gateway, pods });
  }
  return sites;
}

async function addPod(
  namespaces: NetworkNamespaces,
  gateway: string,
  name: string,
  { ipv4, ipv6 }: { ipv4: string; ipv6: string },
): Promise<void> {
  await namespaces.add(name);
  await namespaces.cable(name, "eth0", gateway, name);
  await namespaces.ip(gateway, "link", "set", "dev", name, "master", "pods");
  await namespaces.ip(name, "address", "add", `${ipv4}/16`, "dev", "eth0");
  await namespaces.ip(name, "-6", "address", "add", `${ipv6}/64`, "dev", "eth0", "nodad");
  await namespaces.ip(name, "route", "add", "default", "via", "10.42.0.1");
  await namespaces.ip(name, "-6", "route", "add", "default", "via", "fd42::1");
}
