import type { Contract, Peering, VirtualNode } from "@fjord/api";
import { amountsIn } from "./amounts.ts";
import { conditionOf, conditionViews } from "./condition-views.ts";
import type { KnownSites } from "./known-sites.ts";
import { inForce } from "./site-views.ts";
import type { ConditionView, LinkView, NodeView, SiteView } from "./snapshot.ts";

export interface LinksInput {
  readonly peerings: readonly Peering[];
  readonly contracts: readonly Contract[];
  readonly virtualNodes: readonly VirtualNode[];
  readonly nodes: Readonly<Record<string, NodeView>>;
  readonly sites: Readonly<Record<string, SiteView>>;
  readonly known: KnownSites;
}

/** One link for each wish to use another site, and one for each contract that a consumer holds with this one. */
export function linkViews(input: LinksInput): Record<string, LinkView> {
  const links: Record<string, LinkView> = {};
  for (const peering of input.peerings) links[`peering/${peering.metadata.name}`] = consumedBy(peering, input);
  for (const contract of input.contracts) {
    const given = contract.status?.side === "Provider" || contract.spec.terms.provider === input.known.selfId;
    if (given && inForce(contract)) links[`contract/${contract.metadata.name}`] = givenTo(contract, input);
  }
  return links;
}

function consumedBy(peering: Peering, { contracts, virtualNodes, nodes, sites, known }: LinksInput): LinkView {
  const { status, spec, metadata } = peering;
  const conditions = conditionViews(status?.conditions);
  const contract = contracts.find(({ metadata: { name } }) => name !== undefined && name === status?.contract);
  const node = nodes[status?.virtualNode ?? ""];
  const virtual = virtualNodes.find(({ metadata: { name } }) => name === status?.virtualNode);
  const ready = conditionOf(conditions, "Ready");
  const waiting = ["Paired", "Agreed", "Realised"]
    .map((type) => conditionOf(conditions, type))
    .find((condition) => condition !== undefined && condition.status !== "True");
  const told = ready?.status === "True" ? ready : (waiting ?? ready);
  const used = amountsIn(virtual?.status?.allocated);
  return {
    consumer: known.self,
    provider: spec.site,
    state: stateOf({ ready, contract, lost: sites[spec.site]?.health === "lost" }),
    reason: told?.reason ?? "Waiting",
    message: told?.message ?? "the agent has not looked at it yet",
    peering: metadata.name ?? "",
    ...contractPart(contract),
    ...(status?.virtualNode !== undefined && { node: status.virtualNode }),
    ...(node !== undefined && { nodeReady: node.ready }),
    resources: amountsIn(contract?.spec.terms.resources ?? spec.resources),
    used: node === undefined ? used : node.used,
    conditions,
  };
}

function givenTo(contract: Contract, { sites, known }: LinksInput): LinkView {
  const conditions = conditionViews(contract.status?.conditions);
  const consumer = known.nameOf(contract.spec.terms.consumer);
  const told = conditionOf(conditions, "Active");
  return {
    consumer,
    provider: known.self,
    state: stateOf({ ready: told, contract, lost: sites[consumer]?.health === "lost" }),
    reason: told?.reason ?? contract.status?.phase ?? "",
    message: told?.message ?? "",
    ...contractPart(contract),
    resources: amountsIn(contract.spec.terms.resources),
    used: amountsIn(contract.status?.used),
    conditions,
  };
}

function contractPart(contract: Contract | undefined): Partial<LinkView> {
  if (contract === undefined) return {};
  const { metadata, spec, status } = contract;
  return {
    contract: metadata.name ?? "",
    ...(status?.phase !== undefined && { phase: status.phase }),
    standing: spec.standing,
    ...(status?.peerStanding !== undefined && { peerStanding: status.peerStanding }),
    notAfter: spec.terms.notAfter,
  };
}

interface Standing {
  readonly ready: ConditionView | undefined;
  readonly contract: Contract | undefined;
  readonly lost: boolean;
}

function stateOf({ ready, contract, lost }: Standing): LinkView["state"] {
  if (lost) return "broken";
  const standings = [contract?.spec.standing, contract?.status?.peerStanding];
  if (contract?.status?.phase === "Ended") return "ended";
  if (standings.includes("Drained")) return "drained";
  if (standings.includes("Cordoned")) return "cordoned";
  if (ready?.status === "True") return "open";
  return ready?.reason === "SiteUnreachable" ? "broken" : "waiting";
}
