import type { Contract, Site } from "@fjord/api";
import { amountsIn, sumOf } from "./amounts.ts";
import { conditionOf, conditionViews } from "./condition-views.ts";
import { idOf, type KnownSites } from "./known-sites.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { ConditionView, Health, NodeView, SiteView } from "./snapshot.ts";

export interface SitesInput {
  readonly sites: readonly Site[];
  readonly contracts: readonly Contract[];
  readonly nodes: readonly NodeView[];
  readonly pods: readonly PodFacts[];
  readonly known: KnownSites;
}

export function siteViews({ sites, contracts, nodes, pods, known }: SitesInput): Record<string, SiteView> {
  const podsAt = new Map<string, number>();
  for (const pod of pods) {
    if (pod.node === undefined || pod.ended) continue;
    const site = known.siteOfNode(pod.node);
    podsAt.set(site, (podsAt.get(site) ?? 0) + 1);
  }
  const live = contracts.filter(inForce);
  return Object.fromEntries(
    sites.map((site) => {
      const name = site.metadata.name ?? "";
      const own = name === known.self;
      const there = nodes.filter((node) => node.site === name && node.virtual !== own);
      const conditions = conditionViews(site.status?.conditions);
      const { published } = site.status ?? {};
      const tier = published?.tier ?? site.spec.tier;
      const region = published?.location?.region ?? site.spec.location?.region;
      const id = idOf(site);
      const out = live.filter(
        ({ spec: { terms } }) => terms.provider === known.selfId && (own || terms.consumer === id),
      );
      const into = live.filter(
        ({ spec: { terms } }) => terms.consumer === known.selfId && (own || terms.provider === id),
      );
      const view: SiteView = {
        name,
        ...(id !== undefined && { id }),
        role: own ? "self" : "peer",
        ...(tier !== undefined && { tier }),
        ...(region !== undefined && { region }),
        ...healthOf(conditions, own),
        ...(published?.version !== undefined && { version: published.version }),
        ...(published?.kubernetesVersion !== undefined && { kubernetesVersion: published.kubernetesVersion }),
        endpoints: site.spec.endpoints ?? [],
        ...wayTo(conditions),
        capacity: sumOf(there.map(({ capacity }) => capacity)),
        used: sumOf(there.map(({ used }) => used)),
        shared: amountsIn(own ? site.spec.sharing?.resources : site.status?.shared),
        free: amountsIn(site.status?.free),
        contractedOut: sumOf(out.map(({ spec }) => amountsIn(spec.terms.resources))),
        contractedIn: sumOf(into.map(({ spec }) => amountsIn(spec.terms.resources))),
        pods: podsAt.get(name) ?? 0,
        nodes: there.length,
        nodesReady: there.filter(({ ready }) => ready).length,
        conditions,
      };
      return [name, view];
    }),
  );
}

export function inForce({ status }: Contract): boolean {
  return status?.phase === "Active" || status?.phase === "Expiring";
}

/** A site is well or not by its own word where it gives one; the own site also while its agent starts. */
function healthOf(
  conditions: readonly ConditionView[],
  own: boolean,
): Pick<SiteView, "health" | "reason" | "message" | "since"> {
  const ready = conditionOf(conditions, "Ready");
  const reachable = conditionOf(conditions, "Reachable");
  if (ready === undefined) return { health: "waiting", reason: "Unknown", message: "nothing was heard of it yet" };
  const told = !own && reachable?.status === "False" ? reachable : ready;
  const { reason, message, since } = told;
  return { health: stateOf(ready, reachable, own), reason, message, ...(since !== undefined && { since }) };
}

function stateOf(ready: ConditionView, reachable: ConditionView | undefined, own: boolean): Health {
  if (ready.status === "True") return "well";
  if (!own && (reachable?.status === "False" || ready.reason === "Unreachable")) return "lost";
  return ready.reason === "Starting" || ready.status === "Unknown" ? "waiting" : "faulty";
}

function wayTo(conditions: readonly ConditionView[]): Pick<SiteView, "way"> {
  const reachable = conditionOf(conditions, "Reachable");
  if (reachable === undefined || reachable.reason === "Self") return {};
  if (reachable.status !== "True") return { way: "none" };
  return { way: reachable.reason === "Tunnelled" ? "tunnelled" : "dialled" };
}
