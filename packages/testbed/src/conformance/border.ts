import { GUEST_PRIVILEGES, newObject, OffloadingRule, Peering, Site as SiteKind, VirtualNode } from "@fjord/api";
import { systemClock } from "@fjord/base";
import { Node } from "@fjord/kube";
import { Continuum, PLENTY } from "../agents/index.ts";
import type { Bed } from "../bed.ts";
import { waitFor } from "../wait.ts";

export interface BorderOptions {
  /** The site that is judged: its only nodes stand for others. */
  readonly home: string;
  /** Sites that have the nodes. */
  readonly providers: readonly string[];
  /** Where their gateways meet, by site: links are asked for, and names of namespaces are everywhere the same. @default no links */
  readonly endpoints?: ReadonlyMap<string, string>;
  /** More of the network of the site that is judged. */
  readonly network?: object;
}

/** Gives a site a virtual node for each provider, and lets all its namespaces extend there. */
export async function joinOverBorder(
  bed: Bed,
  { home, providers, endpoints, network: ofHome }: BorderOptions,
): Promise<void> {
  const continuum = new Continuum(bed);
  // Specs ask for their node's network, paths and processes, and a plain site gives them.
  await continuum.startAgents({ flags: GUEST_PRIVILEGES.map((each) => `--guest-privilege=${each}`), timeout: 120_000 });
  for (const [name, endpoint] of endpoints ?? []) {
    await using client = continuum.client(name);
    const network = { podRanges: [bed.site(name).layout.podCidr], endpoints: [endpoint], ...(name === home && ofHome) };
    await client.patch(SiteKind, { name }, "merge", { spec: { network } });
  }
  const amounts = Object.entries(PLENTY).map(([name, amount]) => `--${name}=${amount}`);
  for (const provider of providers) {
    await continuum.share(provider);
    await continuum.peer(home, provider, ...amounts, ...(endpoints ? ["--link"] : []));
  }
  await using client = continuum.client(home);
  const naming = endpoints && { naming: { strategy: "Same" as const } };
  const rule = newObject(OffloadingRule, {
    metadata: { name: "everything" },
    spec: { namespaceSelector: {}, template: { pods: "Remote", ...naming } },
  });
  await client.create(OffloadingRule, rule);
  for (const name of providers) {
    // The suite takes only nodes without taints for nodes, and here there are no others that the taint would keep apart.
    await client.patch(Peering, { name }, "merge", { spec: { virtualNode: { tainted: false } } });
    // Once it is not wanted it is not put back.
    const isBare = async () => {
      const { spec } = await client.get(VirtualNode, { name });
      if (spec.tainted) return false;
      const node = await client.patch(Node, { name }, "merge", { spec: { taints: null } });
      return !node.spec?.taints?.length;
    };
    await waitFor(isBare, { clock: systemClock, timeout: 30_000, interval: 200 });
  }
}
