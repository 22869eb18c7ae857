import { placeIn } from "@fjord/agent/move";
import { type Contract, TIER_LABEL } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { idOf, siteById, siteOfNode } from "../place/known-places.ts";
import { contractSentence } from "./explain-pod.ts";
import type { PodFacts } from "./pod-facts.ts";
import { inShort, isOpen, isVirtual, MADE_BEFORE, type Reach, reachOf } from "./reach.ts";
import { type Lack, lackOfContract, lackOfNodes, lackWords } from "./room.ts";

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
      ...here(facts, reach),
      ...places.virtualNodes.flatMap((node) => obstacles(facts, reach, node)),
    ],
    advice: [...tierAdvice(reach), ...advice(facts, reach, said)],
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

function here({ pod, nodes }: PodFacts, { here: way }: Reach): string[] {
  if (!isOpen(way)) return [`Here is no help: ${inShort([way])}.`];
  const lack = lackOfNodes(
    pod,
    nodes.filter((node) => !isVirtual(node)),
  );
  return lack.length === 0 ? [] : [`Here is no help: ${lackWords(lack, "no node here has more than")}.`];
}

/** What keeps it from one virtual node. */
function obstacles(facts: PodFacts, reach: Reach, node: VirtualNode): string[] {
  const { pod, places, offloading } = facts;
  const name = node.metadata.name ?? "";
  const site = siteOfNode(places, name);
  const called = site?.metadata.name ?? name;
  const contract = contractOf(facts, node);
  const ready = getCondition(node.status?.conditions, "Ready");
  const lack = contract === undefined ? [] : lackOfContract(pod, contract);
  const tooSmall = (before: string) =>
    lack.length === 0 ? "" : `${before}${lackWords(lack, `contract ${contract?.metadata.name} has altogether`)}`;
  if (ready !== undefined && ready.status !== "True")
    return [`${called} is no help: node ${name} is not ready: ${ready.reason}: ${ready.message}.`];
  if (contract !== undefined && contract.spec.standing !== "Open")
    return [`${called} is no help: its contract is ${contract.spec.standing.toLowerCase()}.`];
  if (offloading === undefined || offloading.spec.pods === "Local")
    return [`${called} is no help: pods of this namespace may not run there${tooSmall("; and ")}.`];
  const place = placeIn(pod.spec?.affinity);
  if (place === "home" || (typeof place === "object" && site !== undefined && place.site !== idOf(site)))
    return [`${called} is no help: the pod is to run elsewhere.`];
  const way = reach.away.find((each) => each.node === name);
  if (way !== undefined && !isOpen(way)) return [`${called} is no help: ${inShort([way])}.`];
  if (lack.length > 0) return [`${called} is no help: ${tooSmall("")}.`];
  return contractSentence(contract, called).map(
    (sentence) => `${called} would do if its contract has room. ${sentence}`,
  );
}

type VirtualNode = PodFacts["places"]["virtualNodes"][number];

function contractOf({ places }: PodFacts, node: VirtualNode): Contract | undefined {
  return places.contracts.find(({ metadata }) => metadata.name === node.spec.contract);
}

function advice(facts: PodFacts, reach: Reach, said: string | undefined): string[] {
  const { pod, offloading, places } = facts;
  const isFull = /Insufficient|Too many pods/.test(said ?? "");
  const larger = places.virtualNodes
    .filter((node) => isWilling(facts, reach, node))
    .flatMap((node) => enlarge(facts, node));
  return [
    ...(said === undefined ? [] : offloadAdvice(facts, reach)),
    ...(isFull && places.virtualNodes.length === 0
      ? ["`fjord peer` makes another site's resources a node of this one."]
      : []),
    ...larger,
    ...(isFull && larger.length === 0 && offloading !== undefined && places.virtualNodes.length > 0
      ? ["`fjord peer SITE --cpu=... --memory=...` resizes a contract."]
      : []),
    ...(placeIn(pod.spec?.affinity) !== undefined
      ? ["`fjord move WORKLOAD anywhere` leaves the choice to the scheduler."]
      : []),
  ];
}

/** Where its namespace alone keeps it from a site that would do. */
function offloadAdvice(facts: PodFacts, reach: Reach): string[] {
  const { pod, offloading, places } = facts;
  if (offloading !== undefined && offloading.spec.pods !== "Local") return [];
  if (!places.virtualNodes.some((node) => isWilling(facts, reach, node))) return [];
  const { namespace = "", ownerReferences } = pod.metadata;
  const isMadeAgain = ownerReferences?.some(({ controller }) => controller === true) ?? false;
  const anew = isMadeAgain ? "delete this one, and the one in its place may" : "make this one anew, and it may";
  return [`\`fjord offload ${namespace}\` lets pods that are made from then on run at other sites: ${anew}.`];
}

/** Whether the site takes pods now, and the pod has nothing against it but that it is older than the offloading. */
function isWilling(facts: PodFacts, reach: Reach, node: VirtualNode): boolean {
  const { pod, places } = facts;
  const ready = getCondition(node.status?.conditions, "Ready");
  const standing = contractOf(facts, node)?.spec.standing ?? "Open";
  if (ready?.status === "False" || ready?.status === "Unknown" || standing !== "Open") return false;
  const place = placeIn(pod.spec?.affinity);
  const site = siteOfNode(places, node.metadata.name);
  if (place === "home" || (typeof place === "object" && site !== undefined && place.site !== idOf(site))) return false;
  const way = reach.away.find((each) => each.node === node.metadata.name);
  return (way?.reasons ?? []).every((reason) => reason === MADE_BEFORE);
}

/** The command by which a contract would have what this pod asks for. */
function enlarge(facts: PodFacts, node: VirtualNode): string[] {
  const contract = contractOf(facts, node);
  const lack = contract === undefined ? [] : lackOfContract(facts.pod, contract);
  if (lack.length === 0) return [];
  const site = siteOfNode(facts.places, node.metadata.name)?.metadata.name ?? "SITE";
  return [`\`fjord peer ${site} ${lack.map(flag).join(" ")}\` or more asks for a contract that has room for it.`];
}

function flag({ resource, asked }: Lack): string {
  return ["cpu", "memory", "pods"].includes(resource) ? `--${resource}=${asked}` : `--resource ${resource}=${asked}`;
}
