import { placeIn } from "@fjord/agent/move";
import { TIER_LABEL } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { idOf, siteById, siteOfNode } from "../place/known-places.ts";
import { contractSentence } from "./explain-pod.ts";
import type { PodFacts } from "./pod-facts.ts";
import { inShort, isOpen, type Reach, reachOf } from "./reach.ts";

/** Why no node has been chosen yet, site by site. */
export function whyPending(facts: PodFacts): { because: string[]; advice: string[] } {
  const { pod, places } = facts;
  const gates = (pod.spec?.schedulingGates ?? []).map(({ name }) => name);
  if (gates.length > 0)
    return {
      because: [`It is Pending: nobody schedules it while it has the gates ${gates.join(", ")}.`],
      advice: ["Whoever set the gates takes them away."],
    };
  const reach = reachOf(facts);
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  const event = facts.events.find(({ reason }) => reason === "FailedScheduling");
  const said = scheduled?.message || event?.message;
  const scheduler = said
    ? [`It is Pending: the scheduler found no node for it. In its words: ${said.trim()}`]
    : ["It is Pending: the scheduler has not looked at it yet."];
  return {
    because: [
      ...scheduler,
      permission(facts),
      ...wish(facts),
      ...(isOpen(reach.here) ? [] : [`Here is no help: ${inShort([reach.here])}.`]),
      ...places.virtualNodes.flatMap((node) => obstacles(facts, reach, node)),
    ],
    advice: [...tierAdvice(reach), ...advice(facts, said)],
  };
}

/** What its namespace is allowed; what becomes of that is told site by site. */
function permission({ pod, offloading }: PodFacts): string {
  const { namespace } = pod.metadata;
  if (offloading === undefined) return `Namespace ${namespace} is not offloaded, so its pods run here only.`;
  const words = {
    Both: "its pods may run here or at other sites",
    Remote: "its pods run at other sites only",
    Local: "its pods run here only",
  };
  return `Namespace ${namespace} is offloaded with pods=${offloading.spec.pods}: ${words[offloading.spec.pods]}.`;
}

/** Fjord labels the nodes that it makes; those of a cluster are its owner's. */
function tierAdvice({ here }: Reach): string[] {
  const missing = here.reasons.map((reason) => / and node (\S+) has no label fjord\.dev\/tier$/.exec(reason)?.[1]);
  const node = missing.find((each) => each !== undefined);
  return node === undefined
    ? []
    : [`If nodes of this site are meant too, label them: \`kubectl label node ${node} ${TIER_LABEL}=...\`.`];
}

function wish({ pod, places }: PodFacts): string[] {
  const place = placeIn(pod.spec?.affinity);
  if (place === undefined || place === "anywhere") return [];
  if (place === "home") return ["Its node affinity keeps it at home (`fjord move`)."];
  return [
    `Its node affinity lets it run at ${siteById(places, place.site)?.metadata.name ?? place.site} only (\`fjord move\`).`,
  ];
}

/** What keeps it from one virtual node. */
function obstacles(facts: PodFacts, reach: Reach, node: PodFacts["places"]["virtualNodes"][number]): string[] {
  const { pod, places, offloading } = facts;
  const name = node.metadata.name ?? "";
  const site = siteOfNode(places, name);
  const called = site?.metadata.name ?? name;
  const contract = places.contracts.find(({ metadata }) => metadata.name === node.spec.contract);
  const ready = getCondition(node.status?.conditions, "Ready");
  if (ready !== undefined && ready.status !== "True")
    return [`${called} is no help: node ${name} is not ready: ${ready.reason}: ${ready.message}.`];
  if (contract !== undefined && contract.spec.standing !== "Open")
    return [`${called} is no help: its contract is ${contract.spec.standing.toLowerCase()}.`];
  if (offloading === undefined || offloading.spec.pods === "Local")
    return [`${called} is no help: pods of this namespace may not run there.`];
  const place = placeIn(pod.spec?.affinity);
  if (place === "home" || (typeof place === "object" && site !== undefined && place.site !== idOf(site)))
    return [`${called} is no help: the pod is to run elsewhere.`];
  const way = reach.away.find((each) => each.node === name);
  if (way !== undefined && !isOpen(way)) return [`${called} is no help: ${inShort([way])}.`];
  return contractSentence(contract, called).map(
    (sentence) => `${called} would do if its contract has room. ${sentence}`,
  );
}

function advice({ pod, offloading, places }: PodFacts, said: string | undefined): string[] {
  const { namespace = "" } = pod.metadata;
  const isFull = /Insufficient|Too many pods/.test(said ?? "");
  return [
    ...(isFull && offloading === undefined && places.virtualNodes.length > 0
      ? [`\`fjord offload ${namespace}\` lets it run at other sites.`]
      : []),
    ...(isFull && places.virtualNodes.length === 0
      ? ["`fjord peer` makes another site's resources a node of this one."]
      : []),
    ...(isFull && offloading !== undefined && places.virtualNodes.length > 0
      ? ["`fjord peer SITE --cpu=... --memory=...` resizes a contract."]
      : []),
    ...(placeIn(pod.spec?.affinity) !== undefined
      ? ["`fjord move WORKLOAD anywhere` leaves the choice to the scheduler."]
      : []),
  ];
}
