import type { PathEnd } from "@fjord/continuum/network-path";
import type { Service } from "@fjord/kube";
import type { SiteNetwork } from "./site-network.ts";

/** Whether clients from outside of the cluster come to a Service by a port of any node, whoever answers there. */
export function isForOutside({ spec }: Service): boolean {
  const { type, externalTrafficPolicy, externalIPs = [] } = spec ?? {};
  const isOfNodes = type === "NodePort" || type === "LoadBalancer" || externalIPs.length > 0;
  return isOfNodes && externalTrafficPolicy !== "Local";
}

/** What to do for clients from outside, who come by addresses of nodes, and whom no link lets pass unless these are said to be machines. */
export function outsideAdvice(
  ends: readonly Pick<PathEnd, "site">[],
  { id, plans, nameOf }: Pick<SiteNetwork, "id" | "plans" | "nameOf">,
  machines: readonly string[] = [],
): string[] {
  if (machines.length > 0) return [];
  const linked = plans.filter(({ spec }) => spec.carrier !== "Proxy").map(({ spec }) => spec.site);
  const there = [...new Set(ends.flatMap(({ site }) => (site !== undefined && site !== id ? site : [])))];
  const names = there.filter((site) => linked.includes(site)).map((site) => nameOf(site) ?? site);
  if (names.length === 0) return [];
  return [
    `whoever comes to the Service from outside, by a port of a node, is not answered by its endpoints at ${names.join(", ")}: spec.network.machines of the own Site has to name the nodes' ranges`,
  ];
}
