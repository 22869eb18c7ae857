import { placeIn } from "@fjord/agent/move";
import { getCondition } from "@fjord/kube";
import { idOf, siteById, siteOfNode } from "../place/known-places.ts";
import { contractSentence, offloadingSentence } from "./explain-pod.ts";
import type { PodFacts } from "./pod-facts.ts";

/** Why no node has been chosen yet, site by site. */
export function whyPending(facts: PodFacts): { because: string[]; advice: string[] } {
  const { pod, places, offloading } = facts;
  const { namespace = "" } = pod.metadata;
  const gates = (pod.spec?.schedulingGates ?? []).map(({ name }) => name);
  if (gates.length > 0)
    return {
      because: [`It is Pending: nobody schedules it while it has the gates ${gates.join(", ")}.`],
      advice: ["Whoever set the gates takes them away."],
    };
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  const event = facts.events.find(({ reason }) => reason === "FailedScheduling");
  const said = scheduled?.message || event?.message;
  const scheduler = said
    ? [`It is Pending: the scheduler found no node for it. In its words: ${said.trim()}`]
    : ["It is Pending: the scheduler has not looked at it yet."];
  return {
    because: [
      ...scheduler,
      ...offloadingSentence(namespace, offloading, false),
      ...wish(facts),
      ...places.virtualNodes.flatMap((node) => obstacles(facts, node)),
    ],
    advice: advice(facts, said),
  };
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
function obstacles(facts: PodFacts, node: PodFacts["places"]["virtualNodes"][number]): string[] {
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
