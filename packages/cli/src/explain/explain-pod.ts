import { placeIn } from "@fjord/agent/move";
import type { Contract, Site } from "@fjord/api";
import { type CoreEvent, getCondition } from "@fjord/kube";
import { age } from "../output/table.ts";
import { closedBy, closedThere } from "../place/contract-standing.ts";
import { ownSiteIn, siteById, siteOfNode } from "../place/known-places.ts";
import { peerCommand } from "../place/peer-command.ts";
import { type PodFacts, timeOf } from "./pod-facts.ts";
import { reachSentence } from "./reach.ts";
import { whyPending } from "./why-pending.ts";
import { workloadOf } from "./workload-of.ts";

/** On a consumer's pod: whether the provider has taken it. */
const OFFLOADED_CONDITION = "fjord.dev/Offloaded";
/** Of a node's runtime that cannot do what a pod asks for: of the pod as a whole, in the status of each container. */
const UNSUPPORTED = "RuntimeUnsupported";
/** Of a provider that has looked at what a pod asks for, and not of its API. */
const NOT_GIVEN = "not given to guests";
const MOST_EVENTS = 5;

export interface Explanation {
  readonly pod: string;
  readonly namespace: string;
  readonly phase: string;
  /** When its time to end is over, where it was deleted: whatever its phase is, it is on its way out. */
  readonly deletedAt?: string;
  /** The site that it is at, or was put to. */
  readonly site?: string;
  readonly node?: string;
  /** In plain sentences, the most important first. */
  readonly because: readonly string[];
  /** What would change it. */
  readonly advice: readonly string[];
}

/** Why a pod is where it is, or nowhere yet. */
export function explainPod(facts: PodFacts): Explanation {
  const { pod, places } = facts;
  const { name = "", namespace = "" } = pod.metadata;
  const nodeName = pod.spec?.nodeName;
  const site = nodeName ? siteOfNode(places, nodeName)?.metadata.name : undefined;
  const told = nodeName ? placed(facts, nodeName) : whyPending(facts);
  return {
    pod: name,
    namespace,
    phase: pod.status?.phase ?? "Unknown",
    ...(pod.metadata.deletionTimestamp !== undefined && { deletedAt: String(pod.metadata.deletionTimestamp) }),
    ...(site !== undefined && { site }),
    ...(nodeName && { node: nodeName }),
    because: [...told.because, ...failure(pod), ...containers(facts), ...warnings(facts)],
    advice: [...told.advice, ...runtimeAdvice(facts)],
  };
}

function runtimeAdvice(facts: PodFacts): string[] {
  if (!statusesOf(facts).some(({ state }) => state?.waiting?.reason === UNSUPPORTED)) return [];
  const workload = workloadOf(facts.pod);
  const elsewhere =
    workload === undefined
      ? "run it at a site whose nodes have containers"
      : `\`fjord move ${workload} SITE -n ${facts.pod.metadata.namespace}\` to one whose nodes have containers (\`fjord sites\`)`;
  return [
    `Take that out of the pod, and give each container a \`command\` of the machine that it runs on; or ${elsewhere}.`,
  ];
}

interface Told {
  readonly because: string[];
  readonly advice: string[];
}

function placed(facts: PodFacts, nodeName: string): Told {
  const { pod, places, now } = facts;
  const virtual = places.virtualNodes.find(({ metadata }) => metadata.name === nodeName);
  const phase = isEnding(pod) ? "being deleted" : (pod.status?.phase ?? "Unknown");
  const scheduled = getCondition(pod.status?.conditions as never, "PodScheduled") as
    | { lastTransitionTime?: string }
    | undefined;
  const since = scheduled?.lastTransitionTime === undefined ? "" : ` ${age(scheduled.lastTransitionTime, now)} ago`;
  if (virtual === undefined) {
    const own = ownSiteIn(places)?.metadata.name;
    const here = own === undefined ? "here" : `here, at ${own}`;
    return {
      because: [
        `It is ${phase} ${here}: node ${nodeName} was chosen for it${since}.`,
        ...choice(facts, undefined),
        ...ending(facts),
        ...(isGone(facts, nodeName) ? [`Node ${nodeName} does not exist any more.`] : []),
      ],
      advice: [],
    };
  }
  const site = siteOfNode(places, nodeName);
  const called = site?.metadata.name ?? "another site";
  const contract = places.contracts.find(({ metadata }) => metadata.name === virtual.spec.contract);
  const away = siteTrouble(site, virtual, facts);
  return {
    because: [
      `It is ${phase} at ${called}: virtual node ${nodeName}, which stands for that site, was chosen for it${since}.`,
      ...choice(facts, site),
      ...contractSentence(contract, called),
      ...away,
      ...ending(facts, away.length > 0 ? called : undefined),
      ...taken(facts, called),
    ],
    advice: adviceFor(facts, called, away.length > 0, contract),
  };
}

/** Why a whole pod has failed, as one that was evicted or lost; of its containers each says its own end. */
function failure({ status }: PodFacts["pod"]): string[] {
  if (status?.phase !== "Failed" || !status.reason) return [];
  const why = unended(status.message);
  return [`It has failed for good: ${status.reason}${why === "" ? "" : `: ${why}`}.`];
}

function isEnding({ metadata }: PodFacts["pod"]): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Since when it is to end, and what is known of its containers; `silent`: the site which alone could say that they have. */
function ending({ pod, now }: PodFacts, silent?: string): string[] {
  if (!isEnding(pod)) return [];
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  const asked = Date.parse(String(deletionTimestamp)) - deletionGracePeriodSeconds * 1000;
  const since = Number.isNaN(asked) ? "" : ` ${age(new Date(asked).toISOString(), now)} ago`;
  const phase = pod.status?.phase ?? "Unknown";
  return silent === undefined
    ? [`Somebody asked for its end${since}; until then it was ${phase}, and it goes once its containers have ended.`]
    : [
        `Somebody asked for its end${since}. ${silent} has not said that it has ended: there it may be ${phase} still, as was last heard.`,
      ];
}

function isGone({ nodes }: PodFacts, name: string): boolean {
  return nodes.length > 0 && !nodes.some(({ metadata }) => metadata.name === name);
}

/** What opened or closed the way to other sites. */
function choice(facts: PodFacts, site: Site | undefined): string[] {
  const { pod, places } = facts;
  const place = placeIn(pod.spec?.affinity);
  const moved =
    place === undefined || place === "anywhere"
      ? []
      : [
          `It was asked for there: its node affinity ${place === "home" ? "keeps it at home" : `names the site ${siteById(places, place.site)?.metadata.name ?? place.site}`} (\`fjord move\`).`,
        ];
  const selector = Object.entries(pod.spec?.nodeSelector ?? {}).map(([key, value]) => `${key}=${value}`);
  const selected = selector.length === 0 ? [] : [`Its node selector asks for ${selector.join(", ")}.`];
  return [offloadingSentence(facts, site !== undefined, moved.length > 0), ...moved, ...selected];
}

function offloadingSentence(facts: PodFacts, isElsewhere: boolean, isMoved: boolean): string {
  const { namespace } = facts.pod.metadata;
  if (facts.offloading !== undefined) return reachSentence(facts, facts.offloading, isMoved);
  return isElsewhere
    ? `Namespace ${namespace} is not offloaded: no pod of it begins there, and those from a time when it was stay until they end.`
    : `Namespace ${namespace} is not offloaded, so its pods run here only.`;
}

export function contractSentence(contract: Contract | undefined, site: string): string[] {
  if (contract === undefined) return [`There is no contract with ${site} for this node any more.`];
  const { metadata, spec, status } = contract;
  const amounts = Object.entries(spec.terms.resources).map(([name, amount]) => `${name} ${amount}`);
  const closed = closedBy(contract, site);
  const standing = closed === undefined ? "" : `, ${closed}`;
  return [
    `Contract ${metadata.name} with ${site} is ${status?.phase ?? "not known yet"}${standing}: ${amounts.join(", ")}, until ${spec.terms.notAfter}.`,
  ];
}

function siteTrouble(
  site: Site | undefined,
  virtual: PodFacts["places"]["virtualNodes"][number],
  { now }: PodFacts,
): string[] {
  const ready = getCondition(virtual.status?.conditions, "Ready");
  if (ready === undefined || ready.status === "True") return [];
  const since = ready.lastTransitionTime === undefined ? "" : ` for ${age(ready.lastTransitionTime, now)}`;
  return [
    `Node ${virtual.metadata.name} has not been ready${since}: ${ready.reason}: ${unended(ready.message)}.${site === undefined ? "" : " What is told of the pod is what was last heard."}`,
  ];
}

/** What the other side answers. */
function taken({ pod }: PodFacts, site: string): string[] {
  const offloaded = pod.status?.conditions?.find(({ type }) => type === OFFLOADED_CONDITION);
  if (offloaded?.status !== "False") return [];
  return [`${site} has not taken it: ${offloaded.reason}: ${unended(offloaded.message)}.`];
}

/** A message of others, without the full stop that the sentence around it has. */
function unended(message: string | undefined): string {
  return (message ?? "").replace(/[.\s]+$/, "");
}

function statusesOf({ pod }: PodFacts) {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}

function containers(facts: PodFacts): string[] {
  const { pod } = facts;
  const statuses = statusesOf(facts);
  const wholePod = statuses.find(({ state }) => state?.waiting?.reason === UNSUPPORTED)?.state?.waiting;
  const said = wholePod === undefined ? [] : [`Its containers wait: ${UNSUPPORTED}: ${unended(wholePod.message)}.`];
  const each = statuses.flatMap(({ name, state, restartCount, ready }) => {
    const restarts = restartCount > 0 ? ` (${restartCount} restarts)` : "";
    if (state?.waiting?.reason === UNSUPPORTED) return [];
    if (state?.waiting?.reason !== undefined && state.waiting.reason !== "ContainerCreating")
      return [
        `Container ${name} waits${restarts}: ${state.waiting.reason}${state.waiting.message ? `: ${unended(state.waiting.message)}` : ""}.`,
      ];
    if (state?.terminated !== undefined && state.terminated.exitCode !== 0)
      return [
        `Container ${name} ended with ${state.terminated.exitCode}${restarts}: ${state.terminated.reason ?? "no reason was given"}.`,
      ];
    if (state?.running !== undefined && !ready && pod.status?.phase === "Running")
      return [`Container ${name} runs, and is not ready${restarts}.`];
    return restartCount > 0 ? [`Container ${name} has been restarted ${restartCount} times.`] : [];
  });
  return [...said, ...each];
}

/**
 * Each of a sort once, the newest: they repeat. Those from before a pod was ready, as a probe that asked too early, are no
 * trouble of today.
 */
function warnings(facts: PodFacts): string[] {
  const { events, now } = facts;
  const wellSince = readySince(facts);
  const sorts = new Map<string, CoreEvent>();
  for (const event of events) {
    const { type, reason = "" } = event;
    if (type === "Warning" && reason !== "FailedScheduling" && !sorts.has(reason)) sorts.set(reason, event);
  }
  const isPast = (event: CoreEvent) => wellSince !== undefined && timeOf(event) <= wellSince;
  // What was warned of before the containers of a failed pod began is seldom why they failed.
  const began = failedAfter(facts);
  const isEarly = (event: CoreEvent) => began !== undefined && timeOf(event) <= began;
  const early = [...sorts.values()].filter(isEarly).map(({ reason }) => reason);
  const fresh = [...sorts.values()].filter((event) => !isPast(event) && !isEarly(event));
  const past = [...sorts.values()].filter(isPast).map(({ reason }) => reason);
  return [
    ...fresh.slice(0, MOST_EVENTS).map((event) => {
      const when = age(new Date(timeOf(event)).toISOString(), now);
      return `Event ${when} ago: ${event.reason}: ${(event.message ?? "").trim()}`;
    }),
    ...(early.length === 0
      ? []
      : [`Warned of before its containers began: ${early.join(", ")}; \`kubectl describe pod\` has the words.`]),
    ...(past.length === 0
      ? []
      : [
          `It is well: warnings from before it was ready (${past.join(", ")}) are over; \`kubectl describe pod\` has them.`,
        ]),
  ];
}

/** When the first container of a pod that has failed began; undefined for any other pod. */
function failedAfter({ pod }: PodFacts): number | undefined {
  if (pod.status?.phase !== "Failed") return undefined;
  const begun = (pod.status.containerStatuses ?? [])
    .map(({ state }) => Date.parse(String(state?.terminated?.startedAt ?? "")))
    .filter((time) => !Number.isNaN(time));
  // Events and conditions have whole seconds.
  return begun.length === 0 ? undefined : Math.min(...begun) + 999;
}

/** Since when there is nothing to complain of; undefined where there is. */
function readySince({ pod }: PodFacts): number | undefined {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  if (pod.metadata.deletionTimestamp !== undefined || ready?.status !== "True") return undefined;
  // Events and conditions have whole seconds.
  return Date.parse(String(ready.lastTransitionTime ?? "")) + 999 || undefined;
}

function adviceFor({ pod, places }: PodFacts, site: string, isAway: boolean, contract: Contract | undefined): string[] {
  if (isAway && isEnding(pod))
    return [
      `\`fjord sites ${site}\` says whether it answers again: then it ends the pod, and this one goes. Where the site is gone for good, \`fjord unpeer ${site} --force\` waits for nothing there.`,
    ];
  if (pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded") return [];
  const offloaded = pod.status?.conditions?.find(({ type }) => type === OFFLOADED_CONDITION);
  const reason = offloaded?.status === "False" ? offloaded.reason : undefined;
  const peer = peerCommand(places, site, pod.spec?.nodeName);
  if (contract?.status?.phase === "Ended")
    return [`\`${peer}\` asks for another contract; \`fjord move\` brings a workload elsewhere meanwhile.`];
  if (isAway)
    return [
      `\`fjord sites ${site}\` says whether it answers again; \`fjord move\` brings a workload elsewhere meanwhile.`,
    ];
  if (reason === "AmountExceeded")
    return [`Ask for more: \`${peer} --cpu=... --memory=...\` resizes the contract. Or scale down.`];
  if (reason === "Cordoned") {
    const there = contract === undefined ? undefined : closedThere(contract, site);
    if (there === undefined) return [`\`fjord uncordon ${site}\` lets it take pods again.`];
    return [`Its owner lets it take pods again, by \`fjord uncordon\` at ${site}.`];
  }
  if (reason === "OffloadingRefused" || (reason === "PodRefused" && offloaded?.message?.includes(NOT_GIVEN))) {
    const workload = workloadOf(pod);
    const home =
      workload === undefined ? "" : `, have it run here (\`fjord move ${workload} home -n ${pod.metadata.namespace}\`)`;
    // A quota is of the owner's sharing; whatever else guests may not have is the agent's to allow.
    const where = offloaded?.message?.includes("quota exceeded")
      ? "`sharing.objects` of the Site there"
      : "`--guest-privilege` of the agent there, docs/peering.md";
    return [`Take out of it what ${site} refuses${home}, or ask the owner of ${site} to allow it (${where}).`];
  }
  if (reason === "RequestsMissing" || reason === "LimitsDiffer")
    return ["State requests and limits for every container, as the contract asks."];
  return [];
}
