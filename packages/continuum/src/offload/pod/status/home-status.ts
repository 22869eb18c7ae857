import type { ShadowPod } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { type ContainerStatus, isTerminal, type PodStatus, qosClass } from "@fjord/node/pod-status";
import { recreateWish } from "../forge/index.ts";
import { containerStatus, type TimeBounds } from "./container-status.ts";
import {
  type ConditionInput,
  homeConditions,
  type NewCondition,
  OFFLOADED_CONDITION,
  observedGeneration,
} from "./home-conditions.ts";

export { OFFLOADED_CONDITION };

import { addressOf, countOf, dateOf, fieldsOf, listOf, textOf, timeOf, wordOf } from "./sane.ts";

export interface StatusSources {
  /** The own pod, as the own API has it. */
  readonly pod: Pod;
  /** What the provider says; hostile. Absent where there is none. */
  readonly shadow?: Pick<ShadowPod, "status">;
  readonly guest?: { readonly metadata?: { readonly deletionTimestamp?: string }; readonly status?: Pod["status"] };
  /** The guest is not yet what the pod has become: what is told is about an earlier generation. */
  readonly isBehind?: boolean;
  /** Addresses of the virtual node. */
  readonly hostIPs: readonly string[];
  /** Which addresses of this machine's loopback a guest there may have. @default none */
  readonly onLoopback?: (address: string) => boolean;
  /** What an address there is called here; undefined where it cannot be reached. @default the same */
  readonly calledHere?: (address: string) => string | undefined;
  /** Whether packets to pods there are known to get nowhere. */
  readonly isCutOff?: boolean;
  /** By the clock of the own API: those who read the status go by it, as a Job that waits before it makes the next pod. */
  readonly now: number;
  /** By how many milliseconds the clock of the provider's API is ahead of that. @default 0 */
  readonly clockAhead?: number;
}

type Phase = NonNullable<PodStatus["phase"]>;

const phases = ["Pending", "Running", "Succeeded", "Failed"];
const LONGEST_MESSAGE = 4096;

/**
 * The status of the own pod by what the provider says, or undefined where that adds nothing to what the own API knows:
 * a pod that waits for the provider is pending as it was.
 */
export function homeStatus(sources: StatusSources): PodStatus | undefined {
  const { pod, now } = sources;
  const before = pod.status ?? {};
  const guest = fieldsOf(sources.guest?.status);
  const shadow = fieldsOf(sources.shadow?.status);
  if (isTerminal(before.phase)) return undefined;
  const offloaded = offloadedCondition(pod, shadow, guest);
  const phase = phaseOf(guest, shadow);
  if (isTerminal(phase) && isUndecided(sources, shadow)) return stopped(sources, offloaded);
  const hasBegun = guest.startTime !== undefined || listOf(guest.containerStatuses, 1).length > 0;
  if (!hasBegun && !isTerminal(phase)) {
    if (before.startTime !== undefined && sources.guest === undefined) return recreating(sources, offloaded);
    return offloaded === undefined ? undefined : waiting(sources, offloaded);
  }
  const created = Date.parse(pod.metadata.creationTimestamp ?? "") || 0;
  const times = { earliest: created, latest: Math.max(created, now), ahead: sources.clockAhead ?? 0 };
  const statuses = allStatuses(pod, guest, countOf(shadow.recreations, 1_000_000), times);
  const end = phase === "Failed" ? failure(guest, shadow) : undefined;
  // A change that is refused is known, and told of.
  const isBehind = sources.isBehind === true && condition(shadow, "Admitted")?.status !== "False";
  const conditions: ConditionInput = {
    pod,
    phase,
    now,
    isBehind,
    initialized: condition(guest, "Initialized")?.status === "True" || phase === "Running",
    sandboxReady: condition(guest, "PodReadyToStartContainers")?.status === "True" || phase === "Running",
    statuses: new Map([...statuses.init, ...statuses.main].map((status) => [status.name, status])),
    ...(phase === "Failed" && disruption(guest)),
    isLeaving: isLeaving(sources),
    ...(offloaded && { offloaded }),
    isCutOff: sources.isCutOff === true,
    ...(!isTerminal(phase) && { resize: resizeConditions(guest, shadow) }),
  };
  return {
    ...base({ ...sources, isBehind }, times, guest),
    phase,
    ...end,
    conditions: homeConditions(conditions),
    ...podAddresses(guest, before, sources),
    ...(statuses.init.length > 0 && { initContainerStatuses: statuses.init }),
    containerStatuses: phase === "Failed" ? statuses.main.map((each) => afterFailure(each)) : statuses.main,
    ...(statuses.ephemeral.length > 0 && { ephemeralContainerStatuses: statuses.ephemeral }),
  };
}

/** The pod was refused, here or there, and will not run. */
export function refusedStatus({ pod, hostIPs, now }: StatusSources, reason: string, message: string): PodStatus {
  const offloaded = { status: "False" as const, reason, message: message.slice(0, LONGEST_MESSAGE) };
  const statuses = new Map<string, ContainerStatus>();
  const input = { pod, phase: "Failed" as const, initialized: false, sandboxReady: false, statuses, offloaded, now };
  const { containerStatuses, initContainerStatuses, podIP, podIPs } = pod.status ?? {};
  return {
    ...base({ pod, hostIPs, now }, { earliest: 0, latest: now, ahead: 0 }, {}),
    phase: "Failed",
    reason,
    message: message.slice(0, LONGEST_MESSAGE),
    conditions: homeConditions(input),
    ...(podIP && { podIP, podIPs: podIPs ?? [{ ip: podIP }] }),
    ...(initContainerStatuses && { initContainerStatuses }),
    ...(containerStatuses && { containerStatuses: containerStatuses.map((each) => afterFailure(each)) }),
  };
}

/** Of a pod that has failed nothing runs or is made again: a container that has run, and whose end nobody tells, has ended too. A kubelet says so in the same words. */
function afterFailure(status: ContainerStatus): ContainerStatus {
  const { state, containerID } = status;
  if (state?.terminated !== undefined || containerID === undefined) return status;
  const message = "The container could not be located when the pod was terminated";
  const terminated = { exitCode: 137, reason: "ContainerStatusUnknown", message, containerID };
  return { ...status, ready: false, started: false, state: { terminated } };
}

/** The own pod as it was, with a word on why the provider does not run it yet. */
export function waiting(
  { pod, now }: StatusSources,
  offloaded: NonNullable<ConditionInput["offloaded"]>,
): PodStatus | undefined {
  const { conditions: _conditions, ...status } = pod.status ?? {};
  const input = {
    pod,
    phase: "Pending" as const,
    initialized: false,
    sandboxReady: false,
    statuses: new Map(),
    offloaded,
    now,
  };
  const own = homeConditions(input).filter(({ type }) => type === OFFLOADED_CONDITION || type === "PodScheduled");
  const kept = pod.status?.conditions?.filter(({ type }) => type !== OFFLOADED_CONDITION) ?? [];
  return { ...status, phase: "Pending", conditions: [...own, ...kept] };
}

/**
 * Whether a guest that has ended may yet be made again: it was evicted, say, or its provider has taken it from a node, and Kubernetes calls both an end. Its provider knows, and the
 * shadow pod says when that was the end. A pod that has failed at home cannot be taken back.
 */
function isUndecided({ pod, shadow: promise }: StatusSources, shadow: Readonly<Record<string, unknown>>): boolean {
  const isToStay = pod.metadata.deletionTimestamp === undefined && recreateWish(pod) === "Always";
  return isToStay && promise !== undefined && !isTerminal(shadow.phase as string);
}

/** The pod as it was, but nobody is to be sent to it; undefined where nobody is. */
function stopped(sources: StatusSources, offloaded: ConditionInput["offloaded"]): PodStatus | undefined {
  const { pod, now } = sources;
  const { containerStatuses = [], ...status } = pod.status ?? {};
  if (status.phase !== "Running" || !containerStatuses.some(({ ready }) => ready)) return undefined;
  const unready = containerStatuses.map((each) => ({ ...each, ready: false }));
  const input = {
    pod,
    phase: "Running" as const,
    initialized: true,
    sandboxReady: true,
    statuses: new Map(unready.map((each) => [each.name, each])),
    isLeaving: isLeaving(sources),
    ...(offloaded && { offloaded }),
    now,
  };
  return { ...status, conditions: homeConditions(input), containerStatuses: unready };
}

/** Whether the provider ends the guest of a pod that is to stay. */
function isLeaving({ pod, guest }: StatusSources): boolean {
  return guest?.metadata?.deletionTimestamp !== undefined && pod.metadata.deletionTimestamp === undefined;
}

/** The provider has lost the pod that ran, and makes another. */
function recreating(sources: StatusSources, offloaded: ConditionInput["offloaded"]): PodStatus | undefined {
  const { pod, now } = sources;
  const { podIP: _podIP, podIPs: _podIPs, ...status } = pod.status ?? {};
  const stopped = (status.containerStatuses ?? []).map(({ state: _state, ...each }) => ({
    ...each,
    ready: false,
    started: false,
    state: { waiting: { reason: "Recreating" } },
  }));
  const statuses = new Map(stopped.map((each) => [each.name, each]));
  const input = {
    pod,
    phase: "Pending" as const,
    initialized: true,
    sandboxReady: false,
    statuses,
    ...(offloaded && { offloaded }),
    now,
  };
  return { ...status, phase: "Pending", conditions: homeConditions(input), containerStatuses: stopped };
}

function base(
  { pod, hostIPs, now, isBehind }: StatusSources,
  times: TimeBounds,
  guest: Readonly<Record<string, unknown>>,
): PodStatus {
  const generation = observedGeneration(pod, isBehind);
  const [hostIP] = hostIPs;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(hostIP !== undefined && { hostIP, hostIPs: hostIPs.map((ip) => ({ ip })) }),
    startTime:
      pod.status?.startTime ?? timeOf(guest.startTime, times.earliest, times.latest, times.ahead) ?? dateOf(now),
    qosClass: pod.status?.qosClass ?? qosClass(pod),
  };
}

function phaseOf(guest: Readonly<Record<string, unknown>>, shadow: Readonly<Record<string, unknown>>): Phase {
  // A guest that has ended may have been taken away since; its end stands in the shadow.
  const told = isTerminal(shadow.phase as string) ? shadow.phase : (guest.phase ?? "Pending");
  return phases.includes(told as string) ? (told as Phase) : "Pending";
}

function allStatuses(pod: Pod, guest: Readonly<Record<string, unknown>>, recreations: number, times: TimeBounds) {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const of = (
    own: readonly { name: string; image?: string }[],
    field: "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses",
  ): ContainerStatus[] => {
    const given = new Map(listOf(guest[field], 512).map((each) => [fieldsOf(each).name, each]));
    const before = new Map((pod.status?.[field] ?? []).map((each) => [each.name, each]));
    return own.flatMap(({ name, image }) => {
      const old = before.get(name);
      if (!given.has(name)) return old === undefined ? [unknownStatus(name, image, recreations)] : [old];
      return [containerStatus(name, image, given.get(name), old, recreations, times)];
    });
  };
  return {
    init: of(initContainers, "initContainerStatuses"),
    main: of(containers, "containerStatuses"),
    ephemeral: of(ephemeralContainers, "ephemeralContainerStatuses"),
  };
}

function unknownStatus(name: string, image: string | undefined, restartCount: number): ContainerStatus {
  const state = { waiting: { reason: "ContainerCreating" } };
  return { name, image: image ?? "", imageID: "", ready: false, started: false, restartCount, state };
}

function podAddresses(
  guest: Readonly<Record<string, unknown>>,
  before: PodStatus,
  { onLoopback, calledHere = (address) => address }: Pick<StatusSources, "onLoopback" | "calledHere">,
): PodStatus {
  const given = [fieldsOf({ ip: guest.podIP }), ...listOf(guest.podIPs, 4).map(fieldsOf)].flatMap(
    ({ ip }) => addressOf(ip, onLoopback) ?? [],
  );
  const addresses = [...new Set(given.flatMap((address) => calledHere(address) ?? []))];
  const all = given.length > 0 ? addresses.slice(0, 2) : (before.podIPs ?? []).flatMap(({ ip }) => (ip ? [ip] : []));
  const [podIP] = all;
  return podIP === undefined ? {} : { podIP, podIPs: all.map((ip) => ({ ip })) };
}

function failure(guest: Readonly<Record<string, unknown>>, shadow: Readonly<Record<string, unknown>>): PodStatus {
  const lost = condition(shadow, "Running");
  const isLost = lost?.status === "False" && lost.reason === "Lost";
  const reason = isLost ? "Lost" : wordOf(guest.reason);
  const message = textOf(isLost ? lost.message : guest.message, LONGEST_MESSAGE);
  return { ...(reason && { reason }), ...(message && { message }) };
}

function disruption(guest: Readonly<Record<string, unknown>>): Pick<ConditionInput, "disrupted"> {
  const found = condition(guest, "DisruptionTarget");
  if (found?.status !== "True") return {};
  return {
    disrupted: { reason: wordOf(found.reason) ?? "Disrupted", message: textOf(found.message, LONGEST_MESSAGE) ?? "" },
  };
}

/** What the provider's node, or the contract, says of amounts that were changed and are not in force yet. */
function resizeConditions(
  guest: Readonly<Record<string, unknown>>,
  shadow: Readonly<Record<string, unknown>>,
): NewCondition[] {
  const refused = condition(shadow, "Admitted");
  if (refused?.status === "False") {
    const message = textOf(refused.message, LONGEST_MESSAGE) ?? "";
    return [{ type: "PodResizePending", status: "True", reason: "Deferred", message }];
  }
  return ["PodResizePending", "PodResizeInProgress"].flatMap((type) => {
    const found = condition(guest, type);
    if (found?.status !== "True") return [];
    const reason = wordOf(found.reason);
    const message = textOf(found.message, LONGEST_MESSAGE);
    return [{ type, status: "True" as const, ...(reason && { reason }), ...(message && { message }) }];
  });
}

/** Why the provider does not run the pod, where it says so; and that it does, once it has said otherwise. */
function offloadedCondition(
  pod: Pod,
  shadow: Readonly<Record<string, unknown>>,
  guest: Readonly<Record<string, unknown>>,
): ConditionInput["offloaded"] {
  const refused = [condition(shadow, "Admitted"), condition(guest, "PodScheduled")].find(
    (each) => each?.status === "False",
  );
  if (refused !== undefined && guest.startTime === undefined) {
    const reason = wordOf(refused.reason) ?? "Refused";
    return { status: "False", reason, message: textOf(refused.message, LONGEST_MESSAGE) ?? "" };
  }
  const wasTold = pod.status?.conditions?.some(({ type }) => type === OFFLOADED_CONDITION) ?? false;
  return wasTold ? { status: "True", reason: "Accepted", message: "the provider runs the pod" } : undefined;
}

function condition(status: Readonly<Record<string, unknown>>, type: string) {
  const found = listOf(status.conditions, 64)
    .map(fieldsOf)
    .find((each) => each.type === type);
  return found as { status?: unknown; reason?: unknown; message?: unknown } | undefined;
}
