import {
  CONSUMER_LABEL,
  MANAGED_LABEL,
  OFFLOADED_LABEL,
  ORIGIN_NAMESPACE_LABEL,
  ORIGIN_UID_LABEL,
  REFLECT_ANNOTATION,
  VIRTUAL_NODE,
} from "@fjord/api";
import type { KubeObject } from "@fjord/base";
import type { ConfigMap, Job, Pod, Secret, Service } from "@fjord/kube";
import type { Model, NamespaceModel } from "./model.ts";
import { VERSION_LABEL, WORKLOAD_LABEL } from "./objects.ts";
import type { SiteSnapshot, Snapshot } from "./snapshot.ts";
import { BONDS, providersOf } from "./topology.ts";
import type { Workload } from "./wishes.ts";

/** Where reality differs from what users have asked for; empty when it has become that. */
export function differences(model: Model, snapshot: Snapshot): string[] {
  return [
    ...[...model.values()].flatMap((space) => namespaceFindings(space, site(snapshot, space.site))),
    ...BONDS.flatMap(({ consumer, provider }) =>
      bondFindings(model, site(snapshot, consumer), site(snapshot, provider)),
    ),
  ];
}

function site(snapshot: Snapshot, name: string): SiteSnapshot {
  const found = snapshot.get(name);
  if (found === undefined) throw new Error(`there is no snapshot of ${name}`);
  return found;
}

const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace ?? ""}/${metadata.name}`;
const isGoing = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined;
const isReady = ({ status }: Pod) =>
  status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") ?? false;

/** A virtual node got it after its namespace had ceased to be offloaded. */
const isRefused = ({ status }: Pod) => status?.phase === "Failed" && status.reason === "NotOffloaded";

/** The consumer's own view of a namespace. */
function namespaceFindings(space: NamespaceModel, home: SiteSnapshot): string[] {
  const findings: string[] = [];
  const found = (text: string) => void findings.push(`${home.site} ${space.name}: ${text}`);
  const inSpace = <T extends KubeObject>(objects: readonly T[]) =>
    objects.filter(({ metadata }) => metadata.namespace === space.name);
  const namespace = home.namespaces.find(({ metadata }) => metadata.name === space.name);
  if (namespace === undefined || isGoing(namespace)) found("the namespace is not there");
  const labelled = namespace?.metadata.labels?.[OFFLOADED_LABEL] === "true";
  const offloading = inSpace(home.offloadings)[0];
  if (labelled !== (space.offloaded !== undefined)) found(`its label says offloaded: ${labelled}`);
  if (space.offloaded === undefined && offloading !== undefined) found("its Offloading is still there");
  if (space.offloaded !== undefined) {
    const ready = offloading?.status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status !== "True") found(`its Offloading is not Ready: ${ready?.reason} ${ready?.message}`);
  }
  const pods = inSpace(home.pods);
  const virtual = new Set(home.virtualNodes.map(({ metadata }) => metadata.name));
  for (const pod of pods) {
    if (isGoing(pod)) found(`pod ${pod.metadata.name} is still being deleted`);
    if (space.offloaded === undefined && virtual.has(pod.spec?.nodeName ?? "") && !isRefused(pod))
      found(`pod ${pod.metadata.name} is on virtual node ${pod.spec?.nodeName}, and the namespace is not offloaded`);
  }
  for (const workload of space.workloads.values()) {
    const own = pods.filter(({ metadata }) => metadata.labels?.[WORKLOAD_LABEL] === workload.name);
    for (const text of workloadFindings(workload, own, space, home)) found(text);
  }
  const wanted = new Set([...space.workloads.values()].map(({ name }) => name));
  for (const pod of pods) {
    const owner = pod.metadata.labels?.[WORKLOAD_LABEL];
    if (owner === undefined || !wanted.has(owner)) found(`pod ${pod.metadata.name} has no workload`);
  }
  return findings;
}

function workloadFindings(what: Workload, pods: readonly Pod[], space: NamespaceModel, home: SiteSnapshot): string[] {
  const { kind, name } = what;
  const isIt = ({ metadata }: KubeObject) => metadata.namespace === space.name && metadata.name === name;
  if (kind === "Pod") {
    const [pod] = pods;
    if (pod === undefined) return space.doubtful.has(name) ? [] : [`pod ${name} is not there`];
    const isOver = space.doubtful.has(name) && isRefused(pod);
    const findings = isReady(pod) || isOver ? [] : [`pod ${name} is not Ready: ${stateOf(pod)}`];
    if (pod.metadata.labels?.[VERSION_LABEL] !== String(what.version)) findings.push(`pod ${name} is an old one`);
    return findings;
  }
  if (kind === "Deployment" || kind === "StatefulSet") {
    const objects = kind === "Deployment" ? home.deployments : home.statefulSets;
    const object = objects.find(isIt);
    if (object === undefined) return [`${kind} ${name} is not there`];
    const current = pods.filter((pod) => pod.metadata.labels?.[VERSION_LABEL] === String(what.version));
    const ready = current.filter((pod) => isReady(pod) && !isGoing(pod));
    const { readyReplicas = 0, replicas = 0, observedGeneration } = object.status ?? {};
    const findings: string[] = [];
    if (ready.length !== what.replicas || pods.length !== what.replicas || replicas !== what.replicas) {
      const states = pods.filter((pod) => !isReady(pod)).map((pod) => `${pod.metadata.name} ${stateOf(pod)}`);
      findings.push(
        `${kind} ${name} wants ${what.replicas} of version ${what.version}: ${pods.length} pods, ${ready.length} ready` +
          (states.length === 0 ? "" : ` (${states.join("; ")})`),
      );
    }
    if (readyReplicas !== what.replicas || observedGeneration !== object.metadata.generation)
      findings.push(`${kind} ${name} says ${readyReplicas} of ${what.replicas} ready`);
    return findings;
  }
  if (kind === "Job") {
    const job: Job | undefined = home.jobs.find(isIt);
    if (job === undefined) return [`Job ${name} is not there`];
    const { succeeded = 0, active = 0, conditions } = job.status ?? {};
    if (!conditions?.some((each) => each.type === "Complete" && each.status === "True")) {
      const states = pods.map((pod) => `${pod.metadata.name} ${stateOf(pod)}`).join("; ");
      return [
        `Job ${name} is not complete: ${succeeded} of ${what.completions} succeeded, ${active} active (${states})`,
      ];
    }
    return succeeded === what.completions ? [] : [`Job ${name} succeeded ${succeeded} times, not ${what.completions}`];
  }
  const objects = kind === "ConfigMap" ? home.configMaps : kind === "Secret" ? home.secrets : home.services;
  return (objects as readonly KubeObject[]).some(isIt) ? [] : [`${kind} ${name} is not there`];
}

function stateOf({ spec, status, metadata }: Pod): string {
  const waiting = status?.conditions?.find(({ status: value }) => value !== "True");
  return `${metadata.uid} ${status?.phase} ${status?.reason ?? ""} on ${spec?.nodeName ?? "no node"}: ${waiting?.reason ?? ""} ${waiting?.message ?? ""}`.trim();
}

/** What a consumer has at a provider: exactly what its pods and namespaces need. */
function bondFindings(model: Model, home: SiteSnapshot, there: SiteSnapshot): string[] {
  const findings: string[] = [];
  const found = (text: string) => void findings.push(`${home.site} at ${there.site}: ${text}`);
  const isOurs = ({ metadata }: KubeObject) => metadata.labels?.[CONSUMER_LABEL] === home.id;
  const twinOf = new Map<string, string>();
  for (const namespace of there.namespaces.filter(isOurs)) {
    const origin = namespace.metadata.labels?.[ORIGIN_NAMESPACE_LABEL];
    if (origin === undefined) continue;
    const name = namespace.metadata.name as string;
    if (twinOf.has(origin)) found(`${origin} has two twins: ${twinOf.get(origin)} and ${name}`);
    twinOf.set(origin, name);
    const space = model.get(origin);
    if (space?.site !== home.site || space.offloaded === undefined) found(`twin ${name} of ${origin} is left`);
    else if (isGoing(namespace)) found(`twin ${name} of ${origin} is being deleted`);
  }
  const spaces = [...model.values()].filter((space) => space.site === home.site && space.offloaded !== undefined);
  for (const { name } of spaces) if (!twinOf.has(name)) found(`${name} has no twin`);
  const shadows = there.shadowPods.filter(isOurs);
  const guests = there.pods.filter(isOurs);
  const nodes = home.virtualNodes
    .filter(({ status }) => status?.provider === there.id)
    .map((node) => node.metadata.name);
  if (nodes.length === 0) found("there is no virtual node");
  const away = home.pods.filter(({ spec }) => nodes.includes(spec?.nodeName));
  for (const pod of away) {
    const { uid, namespace, name } = pod.metadata;
    const twin = twinOf.get(namespace ?? "");
    const ownShadows = shadows.filter(({ spec }) => spec.originUid === uid);
    const ownGuests = guests.filter(({ metadata }) => metadata.labels?.[ORIGIN_UID_LABEL] === uid);
    const isOver = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
    const places = [...ownShadows, ...ownGuests].map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    if (places.some((place) => place !== `${twin}/${name}`))
      found(`pod ${namespace}/${name} has something at ${places.join(", ")}, not in ${twin}`);
    if (isOver && ownShadows.length === 0 && ownGuests.length === 0) continue;
    if (ownShadows.length !== 1) found(`pod ${namespace}/${name} (${uid}) has ${ownShadows.length} ShadowPods`);
    if (ownGuests.length !== 1) found(`pod ${namespace}/${name} (${uid}) has ${ownGuests.length} guests`);
    for (const guest of ownGuests) {
      if (guest.status?.phase !== pod.status?.phase)
        found(`pod ${namespace}/${name} is ${pod.status?.phase} and its guest ${guest.status?.phase}`);
      if (guest.spec?.containers[0]?.image !== pod.spec?.containers[0]?.image)
        found(`pod ${namespace}/${name} and its guest have different images`);
    }
  }
  const uids = new Set(away.map(({ metadata }) => metadata.uid));
  for (const shadow of shadows)
    if (!uids.has(shadow.spec.originUid))
      found(`ShadowPod ${keyOf(shadow)} stands for no pod: ${shadow.spec.originUid}`);
  for (const guest of guests)
    if (!uids.has(guest.metadata.labels?.[ORIGIN_UID_LABEL])) found(`guest ${keyOf(guest)} stands for no pod`);
  for (const { name } of spaces) {
    const twin = twinOf.get(name);
    if (twin !== undefined) findings.push(...twinFindings(name, twin, home, there, away));
  }
  return findings;
}

/** Twins are equal to their originals, there where they are needed, and nowhere else. */
function twinFindings(
  namespace: string,
  twin: string,
  home: SiteSnapshot,
  there: SiteSnapshot,
  away: readonly Pod[],
): string[] {
  const findings: string[] = [];
  const found = (text: string) => void findings.push(`${home.site} at ${there.site}: ${text}`);
  const sources = away.filter(({ metadata }) => metadata.namespace === namespace).flatMap(referencesOf);
  const compare = (
    kind: string,
    originals: readonly KubeObject[],
    twins: readonly KubeObject[],
    isNeeded: (original: KubeObject) => boolean,
    contentOf: (object: never) => unknown,
  ) => {
    const managed = twins.filter(({ metadata }) => metadata.namespace === twin && metadata.labels?.[MANAGED_LABEL]);
    const own = originals.filter(
      ({ metadata }) => metadata.namespace === namespace && metadata.labels?.chaos === "true",
    );
    for (const original of own) {
      const copy = twins.find(
        ({ metadata }) => metadata.namespace === twin && metadata.name === original.metadata.name,
      );
      if (copy === undefined) {
        if (isNeeded(original)) found(`${kind} ${keyOf(original)} has no twin`);
        continue;
      }
      if (!isNeeded(original)) found(`${kind} ${keyOf(original)} has a twin that nothing needs`);
      const [a, b] = [original, copy].map((each) => JSON.stringify(contentOf(each as never)));
      if (a !== b) found(`${kind} ${keyOf(original)} is ${a}, its twin ${b}`);
    }
    const names = new Set(own.map(({ metadata }) => metadata.name));
    for (const { metadata } of managed)
      if (metadata.labels?.chaos === "true" && !names.has(metadata.name))
        found(`${kind} twin ${metadata.name} is left`);
  };
  const isWanted = (kind: string) => (original: KubeObject) =>
    original.metadata.annotations?.[REFLECT_ANNOTATION] === "true" ||
    sources.includes(`${kind}/${original.metadata.name}`);
  compare("ConfigMap", home.configMaps, there.configMaps, isWanted("ConfigMap"), ({ data }: ConfigMap) => data);
  compare("Secret", home.secrets, there.secrets, isWanted("Secret"), ({ data }: Secret) => data);
  compare(
    "Service",
    home.services,
    there.services,
    () => true,
    ({ spec }: Service) => spec?.ports?.map(({ name, port }) => ({ name, port })),
  );
  return findings;
}

function referencesOf({ spec }: Pod): string[] {
  return (spec?.containers ?? []).flatMap(({ envFrom = [] }) =>
    envFrom.flatMap(({ configMapRef, secretRef }) => [
      ...(configMapRef?.name === undefined ? [] : [`ConfigMap/${configMapRef.name}`]),
      ...(secretRef?.name === undefined ? [] : [`Secret/${secretRef.name}`]),
    ]),
  );
}

/** What is left of the peerings when all of them have ended. */
export function leftovers(snapshot: Snapshot): string[] {
  return [...snapshot.values()].flatMap((each) => {
    const virtual = new Set(providersOf(each.site) as string[]);
    const rest: (readonly [string, readonly KubeObject[]])[] = [
      ["Peering", each.peerings],
      ["VirtualNode", each.virtualNodes],
      ["TwinNamespace", each.twinNamespaces],
      ["ShadowPod", each.shadowPods],
      ["Offloading", each.offloadings],
      ["Contract", each.contracts.filter(({ status }) => status?.phase !== "Ended")],
      ["Node", each.nodes.filter(({ metadata }) => metadata.labels?.[VIRTUAL_NODE] !== undefined)],
      ["Lease", each.leases.filter(({ metadata }) => virtual.has(metadata.name ?? ""))],
      [
        "Namespace",
        each.namespaces.filter(
          ({ metadata: { name = "", labels = {} } }) =>
            labels[CONSUMER_LABEL] !== undefined ||
            labels[OFFLOADED_LABEL] !== undefined ||
            /^fjord-tenant-/.test(name),
        ),
      ],
      ["RoleBinding", each.roleBindings.filter(({ roleRef }) => roleRef.name === "fjord-tenant")],
      [
        "ClusterRoleBinding",
        each.clusterRoleBindings.filter(({ metadata }) => /^fjord-tenant/.test(metadata.name ?? "")),
      ],
      ["Pod", each.pods.filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] !== undefined)],
      ["pod on a virtual node", each.pods.filter(({ spec }) => virtual.has(spec?.nodeName ?? ""))],
    ];
    return rest.flatMap(([kind, objects]) => objects.map((object) => `${each.site}: ${kind} ${keyOf(object)} is left`));
  });
}

/** What Fjord may tell of one object: how often, and in how many events, which are lines to read. */
export interface EventBounds {
  readonly times: number;
  readonly events: number;
}

/** Objects about which Fjord has told more than that, and what it told of them. */
export function eventStorms(snapshot: Snapshot, most: EventBounds): { worst: string[]; storms: string[] } {
  const all = [...snapshot.values()].flatMap(({ site, events }) =>
    [...toldOf(events)].map(([object, told]) => ({
      times: sumOf(told, "times"),
      events: sumOf(told, "events"),
      text: describeTold(site, object, told),
    })),
  );
  const worst = (["times", "events"] as const).flatMap((what) => all.toSorted((a, b) => b[what] - a[what]).slice(0, 1));
  return {
    worst: [...new Set(worst.map(({ text }) => text))],
    storms: all.filter(({ times, events }) => times > most.times || events > most.events).map(({ text }) => text),
  };
}

type Told = Map<string, { times: number; events: number }>;

/** By object and reason: how often Fjord told it, and in how many events. */
function toldOf(events: SiteSnapshot["events"]): Map<string, Told> {
  const objects = new Map<string, Told>();
  for (const { regarding, reason = "", series, deprecatedCount, ...event } of events) {
    const source = event.reportingController || event.deprecatedSource?.component || "";
    if (!source.includes("fjord")) continue;
    const object = `${regarding?.kind} ${regarding?.namespace ?? ""}/${regarding?.name}`;
    const told: Told = objects.get(object) ?? new Map();
    objects.set(object, told);
    const before = told.get(reason) ?? { times: 0, events: 0 };
    const times = series?.count ?? deprecatedCount ?? 1;
    told.set(reason, { times: before.times + times, events: before.events + 1 });
  }
  return objects;
}

function sumOf(told: Told, what: "times" | "events"): number {
  return told.values().reduce((sum, each) => sum + each[what], 0);
}

function describeTold(site: string, object: string, told: Told): string {
  const reasons = [...told].map(([reason, { times, events }]) => `${reason} ${times} in ${events}`);
  return `${site}: told of ${object} ${sumOf(told, "times")} times in ${sumOf(told, "events")} events (${reasons.join(", ")})`;
}
