import { Offloading } from "@fjord/api";
import { inRange } from "@fjord/continuum/network-path";
import { type KubeClient, Pod } from "@fjord/kube";
import { InvalidValue } from "../../errors.ts";
import { idOf, siteOfNode } from "../../place/known-places.ts";
import type { NamedText } from "../end-text.ts";
import { namedObject } from "../named-object.ts";
import type { SiteNetwork } from "../site-network.ts";
import type { Asker } from "./trials.ts";

/** The own site, with the plans of the links that are tried alone. */
export type TriedNetwork = Pick<SiteNetwork, "id" | "name" | "nameOf" | "places" | "plans" | "links">;

/** A pod that can be told to ask, and that no link lets pass: one that is not there would be refused nothing. */
export async function outsiderOf(
  client: KubeClient,
  named: NamedText,
  network: TriedNetwork,
  signal: AbortSignal,
): Promise<Asker> {
  const found = await namedObject(client, Pod, named, client.namespace, signal);
  const { name: pod = "", namespace = "" } = found.metadata;
  const phase = found.status?.phase ?? "Unknown";
  const isCarried = network.plans.some(({ spec }) => spec.carrier === "Proxy");
  const offloaded = isCarried ? (await client.list(Offloading, { namespace, signal })).items.length > 0 : false;
  const reason =
    phase === "Running"
      ? whyInside(found, offloaded, network)
      : `it is ${phase}, and no command can be run in it: name a pod that runs`;
  if (reason !== undefined) throw new InvalidValue({ option: "--outsider", value: `${namespace}/${pod}`, reason });
  return { namespace, pod };
}

/** Why a pod may use a link, or is nobody who could ask over one; undefined where it is an outsider. `offloaded`: its namespace is, where agents carry. */
export function whyInside(
  { metadata, spec, status }: Pod,
  offloaded: boolean,
  { id, name, nameOf, places, plans, links }: TriedNetwork,
): string | undefined {
  const place = siteOfNode(places, spec?.nodeName);
  const site = place && idOf(place);
  const other = "name a pod that may use none";
  if (site !== undefined && site !== id)
    return `it runs at ${nameOf(site) ?? site}: name one that runs at ${name} and may use no link`;
  if (offloaded && plans.some((plan) => plan.spec.carrier === "Proxy"))
    return `its namespace ${metadata.namespace} is offloaded, so that agents carry what it sends: ${other}`;
  const addresses = status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP === undefined ? [] : [status.podIP]);
  const has = (texts: readonly string[]) => texts.some((text) => addresses.some((address) => inRange(text, address)));
  for (const { spec: link } of links.filter((each) => plans.some((plan) => plan.spec.site === each.spec.site))) {
    const peer = nameOf(link.site) ?? link.site;
    const group = link.groups.find(({ local }) => has(local));
    if (group !== undefined) return `it may use the link with ${peer} (group ${group.name}): ${other}`;
    if (has(link.machines ?? []))
      return `it has the address of a machine (spec.network.machines), and may use the link with ${peer}: ${other}`;
  }
  return undefined;
}
