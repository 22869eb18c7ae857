import { placeIn } from "@fjord/agent/move";
import { type Contract, SITE_LABEL, TIER_LABEL } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { closedBy } from "../place/contract-standing.ts";
import { idOf, siteById, siteOfNode } from "../place/known-places.ts";
import { commandOf, peerCommand } from "../place/peer-command.ts";
import { peeringMessage } from "../place/peering-message.ts";
import { contractSentence } from "./explain-pod.ts";
import { isNoRoom, type PodFacts } from "./pod-facts.ts";
import { inShort, isOpen, isVirtual, MADE_BEFORE, type Reach, reachOf } from "./reach.ts";
import { type Lack, lackOfContract, lackOfNodes, lackOfRoom, lackWords } from "./room.ts";
import { workloadOf } from "./workload-of.ts";

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
  const claim = /persistentvolumeclaim "([^"]+)" not found/.exec(said ?? "")?.[1];
  if (claim !== undefined) {
    const { namespace } = pod.metadata;
    return {
      because: [
        ...scheduler,
        `It uses the volume claim ${claim}, which namespace ${namespace} does not have: no site is any help before it is made.`,
      ],
      advice: [
        `Make the claim, or name another one: \`kubectl get persistentvolumeclaims -n ${namespace}\` lists them.`,
      ],
    };
  }
  const isUnbound = isClaimUnbound(said);
  return {
    because: [
      ...scheduler,
      ...(isUnbound ? [UNBOUND] : []),
      permission(facts),
      ...wish(facts),
      ...here(facts, reach),
      ...nowhereElse(facts),
      ...(isUnbound ? [] : places.virtualNodes.flatMap((node) => obstacles(facts, reach, node))),
    ],
    advice: isUnbound ? [bindAdvice(facts)] : [...tierAdvice(reach), ...advice(facts, reach, said)],
  };
}

/** The scheduler looks at no node, virtual ones included, before claims are bound or could be. */
const UNBOUND =
  "It uses a volume claim that is not bound here, and no site is any help before it is: a claim has its twin at another site only once a pod that uses it is there.";

function isClaimUnbound(said: string | undefined): boolean {
  return /unbound immediate PersistentVolumeClaims|didn't find available persistent volumes to bind/.test(said ?? "");
}

function bindAdvice({ pod }: PodFacts): string {
  const { namespace } = pod.metadata;
  const names = (pod.spec?.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []);
  return `\`kubectl describe pvc ${names.join(" ")} -n ${namespace}\` says what it waits for. It needs a volume here, of a class that makes some or by hand, and for a pod elsewhere one there too (docs/reflection.md#volumes).`;
}

/** Where there is no other site to speak of. */
function nowhereElse({ offloading, places }: PodFacts): string[] {
  if (offloading?.spec.pods !== "Remote" || places.virtualNodes.length > 0) return [];
  const waiting = places.peerings.map((peering) => `peering ${peering.metadata.name}: ${peeringMessage(peering)}`);
  return [`No other site is a node of this one yet${waiting.length === 0 ? "" : ` (${waiting.join("; ")})`}.`];
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
  const meant = siteById(places, place.site)?.metadata.name;
  return [
    meant === undefined
      ? strangeSite(place.site, places)
      : `Its node affinity lets it run at ${meant} only (\`fjord move\`).`,
  ];
}

/** A name where an id belongs, or a site that nobody here knows, maybe no longer. */
function strangeSite(site: string, places: PodFacts["places"]): string {
  const called = places.sites.find(({ metadata }) => metadata.name === site);
  const id = called && idOf(called);
  const asks = `Its node affinity asks for ${SITE_LABEL} In [${site}]`;
  if (called === undefined)
    return `${asks}, and no site of that id is known here: it was forgotten (\`fjord unpeer --forget\`), or never paired with.`;
  return id === undefined
    ? `${asks}: that label holds a site's id, which ${site} has not proven yet.`
    : `${asks}: that label holds a site's id, not its name, and the id of ${site} is ${id}.`;
}

function here({ pod, nodes, pods = [] }: PodFacts, { here: way }: Reach): string[] {
  if (!isOpen(way)) return [`Here is no help: ${inShort([way])}.`];
  const own = nodes.filter((node) => !isVirtual(node));
  const lack = lackOfNodes(pod, own);
  if (lack.length > 0) return [`Here is no help: ${lackWords(lack, "no node here has more than")}.`];
  const full = pods.length === 0 ? [] : lackOfRoom(pod, own, pods);
  return full.length === 0 ? [] : [`Here is full: ${lackWords(full, "no node here has more left than")}.`];
}

/** What is used up of a virtual node, as far as that is known. */
function fullnessOf({ pod, nodes, pods = [] }: PodFacts, virtual: VirtualNode): Lack[] {
  const node = nodes.filter(({ metadata }) => metadata.name === virtual.metadata.name);
  return pods.length === 0 ? [] : lackOfRoom(pod, node, pods);
}

/** What keeps it from one virtual node. */
function obstacles(facts: PodFacts, reach: Reach, node: VirtualNode): string[] {
  const { pod, places, offloading } = facts;
  const name = node.metadata.name ?? "";
  const site = siteOfNode(places, name);
  const called = site?.metadata.name ?? name;
  const others = places.virtualNodes.filter(
    (other) => other !== node && siteOfNode(places, other.metadata.name) === site,
  );
  // Of a site with several contracts, which of them is meant.
  const told = site === undefined || others.length === 0 ? called : `${called} (node ${name})`;
  const contract = contractOf(facts, node);
  const ready = getCondition(node.status?.conditions, "Ready");
  const lack = contract === undefined ? [] : lackOfContract(pod, contract);
  const tooSmall = (before: string) =>
    lack.length === 0 ? "" : `${before}${lackWords(lack, `contract ${contract?.metadata.name} has altogether`)}`;
  if (ready !== undefined && ready.status !== "True")
    return [`${told} is no help: node ${name} is not ready: ${ready.reason}: ${ready.message}.`];
  const closed = contract === undefined ? undefined : closedBy(contract, called);
  if (closed !== undefined) return [`${told} is no help: its contract is ${closed}.`];
  if (offloading === undefined || offloading.spec.pods === "Local")
    return [`${told} is no help: pods of this namespace may not run there${tooSmall("; and ")}.`];
  const place = placeIn(pod.spec?.affinity);
  const isElsewhere = typeof place === "object" && place.site !== (site && idOf(site));
  if (place === "home" || (isElsewhere && siteById(places, place.site) !== undefined))
    return [`${told} is no help: the pod is to run elsewhere.`];
  const way = reach.away.find((each) => each.node === name);
  if (way !== undefined && !isOpen(way)) return [`${told} is no help: ${inShort([way])}.`];
  if (lack.length > 0) return [`${told} is no help: ${tooSmall("")}.`];
  const full = fullnessOf(facts, node);
  if (full.length > 0)
    return [`${told} is full: ${lackWords(full, `of contract ${contract?.metadata.name} there is left`)}.`];
  return contractSentence(contract, called).map((sentence) => `${told} would do if its contract has room. ${sentence}`);
}

type VirtualNode = PodFacts["places"]["virtualNodes"][number];

function contractOf({ places }: PodFacts, node: VirtualNode): Contract | undefined {
  return places.contracts.find(({ metadata }) => metadata.name === node.spec.contract);
}

function advice(facts: PodFacts, reach: Reach, said: string | undefined): string[] {
  const { pod, offloading, places } = facts;
  const isFull = isNoRoom(said);
  const larger = places.virtualNodes
    .filter((node) => isWilling(facts, reach, node))
    .flatMap((node) => enlarge(facts, node));
  const renewed = said === undefined ? [] : overAdvice(facts, isFull);
  return [
    ...(said === undefined ? [] : offloadAdvice(facts, reach)),
    ...renewed,
    ...((isFull || offloading?.spec.pods === "Remote") && places.virtualNodes.length === 0 && renewed.length === 0
      ? ["`fjord peer` makes another site's resources a node of this one."]
      : []),
    ...larger,
    ...(isFull && larger.length === 0 && offloading !== undefined && places.virtualNodes.length > 0
      ? [`\`fjord peer ${onlySite(facts) ?? "SITE"} --cpu=... --memory=...\` resizes a contract.`]
      : []),
    ...(placeIn(pod.spec?.affinity) !== undefined ? [moveAdvice(facts)] : []),
  ];
}

/** A contract that is over is asked for again by its owner alone: the pod waits for that where it is to run there, or where all else is used up. */
function overAdvice({ pod, offloading, places }: PodFacts, isFull: boolean): string[] {
  const place = placeIn(pod.spec?.affinity);
  if (offloading === undefined || offloading.spec.pods === "Local" || place === "home") return [];
  const isNamed = typeof place === "object";
  if (!isNamed && !isFull && offloading.spec.pods !== "Remote") return [];
  return places.peerings
    .filter(({ status }) => getCondition(status?.conditions, "Agreed")?.reason === "ContractEnded")
    .filter(({ spec }) => !isNamed || siteById(places, place.site)?.metadata.name === spec.site)
    .map(
      (peering) => `The contract with ${peering.spec.site} is over: \`${commandOf(peering)}\` asks for another one.`,
    );
}

function moveAdvice({ pod, places }: PodFacts): string {
  const place = placeIn(pod.spec?.affinity);
  const workload = workloadOf(pod);
  if (workload === undefined)
    return `Nothing makes this pod anew: make it without ${SITE_LABEL} in its node affinity, and the scheduler chooses.`;
  const move = `fjord move ${workload}`;
  const named = typeof place === "object" && places.sites.some(({ metadata }) => metadata.name === place.site);
  const to = named ? `\`${move} ${place.site} -n ${pod.metadata.namespace}\` asks for that site by its id, and ` : "";
  return `${to}\`${move} anywhere -n ${pod.metadata.namespace}\` leaves the choice to the scheduler.`;
}

/** Where its namespace alone keeps it from a site that would do. */
function offloadAdvice(facts: PodFacts, reach: Reach): string[] {
  const { pod, offloading, places } = facts;
  if (offloading !== undefined && offloading.spec.pods !== "Local") return [];
  if (!places.virtualNodes.some((node) => isWilling(facts, reach, node))) return [];
  const { namespace = "", ownerReferences } = pod.metadata;
  const isMadeAgain = ownerReferences?.some(({ controller }) => controller === true) ?? false;
  const anew = isMadeAgain ? "delete this one, and the one in its place may" : "make this one anew, and it may";
  const pods = offloading === undefined ? "" : " --pods=Both";
  return [`\`fjord offload ${namespace}${pods}\` lets pods that are made from then on run at other sites: ${anew}.`];
}

/** Whether the site takes pods now, and the pod has nothing against it but that it is older than the offloading. */
function isWilling(facts: PodFacts, reach: Reach, node: VirtualNode): boolean {
  const { pod, places } = facts;
  const ready = getCondition(node.status?.conditions, "Ready");
  const contract = contractOf(facts, node);
  const isClosed = contract !== undefined && closedBy(contract, "it") !== undefined;
  if (ready?.status === "False" || ready?.status === "Unknown" || isClosed) return false;
  const place = placeIn(pod.spec?.affinity);
  const site = siteOfNode(places, node.metadata.name);
  if (place === "home" || (typeof place === "object" && site !== undefined && place.site !== idOf(site))) return false;
  const way = reach.away.find((each) => each.node === node.metadata.name);
  return (way?.reasons ?? []).every((reason) => reason === MADE_BEFORE);
}

/** The command by which a contract would have what this pod asks for. */
function enlarge(facts: PodFacts, node: VirtualNode): string[] {
  const contract = contractOf(facts, node);
  const tooSmall = contract === undefined ? [] : lackOfContract(facts.pod, contract);
  const used = fullnessOf(facts, node);
  const lack = tooSmall.length > 0 ? tooSmall : used;
  if (lack.length === 0) return [];
  const site = siteOfNode(facts.places, node.metadata.name)?.metadata.name ?? "SITE";
  const command = peerCommand(facts.places, site, node.metadata.name);
  return [`\`${command} ${lack.map(flag).join(" ")}\` or more asks for a contract that has room for it.`];
}

/** Where there is but one. */
function onlySite({ places }: PodFacts): string | undefined {
  const names = new Set(places.virtualNodes.map(({ metadata }) => siteOfNode(places, metadata.name)?.metadata.name));
  return names.size === 1 ? [...names][0] : undefined;
}

function flag({ resource, asked, needed = asked }: Lack): string {
  return ["cpu", "memory", "pods"].includes(resource) ? `--${resource}=${needed}` : `--resource ${resource}=${needed}`;
}
