import type { AddressPlan, Link } from "@fjord/api";
import { calledByOther, calledThere, siteOfAddress } from "@fjord/continuum/network-path";
import { type EndpointSlice, getCondition, type NetworkPolicy, type Pod } from "@fjord/kube";
import { chosen, type Listener, likelyFirst, policedService } from "./trial-choice.ts";
import { type Policed, policedNames } from "./trial-policies.ts";

export const COLUMNS = ["link", "latency", "mtu", "pod", "service", "dns", "policy"] as const;
export type Column = (typeof COLUMNS)[number];

/** What one try has shown. */
export interface Outcome {
  readonly result: "Passed" | "Failed" | "NotTested";
  /** What was seen, or why nothing was. */
  readonly detail: string;
  /** Where nothing could be seen, though elsewhere it was, and why. */
  readonly except?: readonly string[];
}

/** One direction between two sites. */
export interface TrialRow {
  readonly from: string;
  readonly to: string;
  readonly outcomes: Readonly<Record<Column, Outcome>>;
}

/** A pod that may be told to ask. */
export interface Asker {
  readonly namespace: string;
  readonly pod: string;
}

/** Where something listens. */
export interface Target {
  readonly address: string;
  readonly port: number;
  /** NetworkPolicies that have a say in whether who asks is answered. */
  readonly policed?: Policed;
}

/** What can be tried from one site to another. */
export interface Chances {
  /** Where it is tried; none where no namespace could be. */
  readonly namespace?: string;
  /** Pods that would ask. */
  readonly asker?: Asker;
  /** Something of the other site that listens, as it is called where the asker stands: by each family that the asker has. */
  readonly targets?: readonly Target[];
  /** A Service of the namespace. */
  readonly service?: { readonly name: string; readonly port: number; readonly policed?: Policed };
  /** NetworkPolicies that have a say in where the asker may ask for names. */
  readonly policedNames?: Policed;
  /** Why there is nothing to ask, or nobody who could. */
  readonly lack?: string;
}

export interface NamespaceFacts {
  readonly name: string;
  readonly pods: readonly Pod[];
  readonly slices: readonly EndpointSlice[];
  /** Its own labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** @default none */
  readonly policies?: readonly NetworkPolicy[];
}

/** Who could ask whom over a link, in both directions and in each namespace, by what the own API knows of those that its groups have. */
export function chancesOf(
  own: string,
  plan: AddressPlan,
  namespaces: readonly NamespaceFacts[],
): { readonly out: readonly Chances[]; readonly back: readonly Chances[] } {
  const all = namespaces.flatMap((facts) => chancesIn(own, plan, facts) ?? []);
  if (all.length === 0) {
    const lack = "no namespace has pods at both: --deploy brings some";
    return { out: [{ lack }], back: [{ lack }] };
  }
  return { out: all.map(({ out }) => out), back: all.map(({ back }) => back) };
}

/**
 * Who of a consumer's guests at one provider could ask whom at another, in each namespace. Undefined where the two have not been told of each other:
 * then their guests do not meet, and nobody wants them to.
 */
export function chancesBetween(
  one: AddressPlan,
  other: AddressPlan,
  namespaces: readonly NamespaceFacts[],
): readonly Chances[] | undefined {
  const [from, to] = [one.spec.site, other.spec.site];
  const areCarried = one.spec.carrier === "Proxy" && other.spec.carrier === "Proxy";
  const isIntroduced = one.spec.others?.some(({ site }) => site === to) === true;
  if (!areCarried && !isIntroduced) return undefined;
  const calledAt = (address: string) =>
    areCarried ? calledThere(one.spec, address) : calledByOther(one.spec, to, other.spec, address);
  const siteOf = (address: string) => siteOfAddress(address, { id: "", ranges: [], plans: [one, other] });
  const all = namespaces.flatMap((facts): Chances[] => {
    const running = runningIn(facts.pods);
    const askers = running.filter(({ status }) => siteOf(status?.podIP ?? "") === from);
    if (askers.length === 0 || !running.some(({ status }) => siteOf(status?.podIP ?? "") === to)) return [];
    const { found, ...chances } = chancesFor(facts, askers, ({ address }) => siteOf(address) === to, calledAt);
    const lack =
      found > (chances.targets?.length ?? 0)
        ? { lack: "the two have not said yet what they call each other" }
        : lackOf(chances, "there", "at the other");
    return [{ ...chances, ...lack }];
  });
  return all.length === 0 ? undefined : all;
}

/** Undefined where nobody could ask in either direction. */
function chancesIn(
  own: string,
  plan: AddressPlan,
  facts: NamespaceFacts,
): { readonly out: Chances; readonly back: Chances } | undefined {
  const peer = plan.spec.site;
  const place = { id: own, ranges: [], plans: [plan] };
  const siteOf = (address: string) => siteOfAddress(address, place);
  const running = runningIn(facts.pods);
  const at = (site: string) => running.filter(({ status }) => siteOf(status?.podIP ?? "") === site);
  const isAt =
    (site: string) =>
    ({ address }: Target) =>
      siteOf(address) === site;
  const { found: _, ...out } = chancesFor(facts, at(own), isAt(peer), (address) => address);
  const { found: __, ...back } = chancesFor(facts, at(peer), isAt(own), (address) => calledThere(plan.spec, address));
  if (out.asker === undefined && back.asker === undefined) return undefined;
  return {
    out: { ...out, ...lackOf(out, "here", "there") },
    back: { ...back, ...lackOf(back, "there, as far as this site sees,", "here") },
  };
}

/** Who of some pods asks whom, and by what Service; with how many listeners there are, some of which may have no name. */
function chancesFor(
  { name, pods, slices, labels, policies = [] }: NamespaceFacts,
  askers: readonly Pod[],
  isMeant: (target: Target) => boolean,
  calledAt: (address: string) => string | undefined,
): Chances & { readonly found: number } {
  const listeners = likelyFirst(listenersIn(slices), pods);
  const known = { pods, policies: { namespace: name, policies, ...(labels && { labels }) } };
  const { asker, listeners: found } = chosen({ ...known, askers, listeners: listeners.filter(isMeant) });
  // One that somebody at the other site answers for, where there is one. Its own port is asked for later.
  const service = (found[0] ?? listeners[0])?.service;
  const byService = asker && service !== undefined && policedService(service, asker, { ...known, listeners });
  const byName = asker && policedNames(known.policies, asker);
  return {
    namespace: name,
    ...(asker && { asker: { namespace: name, pod: asker.metadata.name ?? "" } }),
    targets: found.flatMap(({ address, port, policed }) => {
      const called = calledAt(address);
      return called === undefined ? [] : { address: called, port, ...(policed && { policed }) };
    }),
    ...(service !== undefined && { service: { name: service, port: 0, ...(byService && { policed: byService }) } }),
    ...(byName && { policedNames: byName }),
    found: found.length,
  };
}

/** Pods that have an address of their own. */
function runningIn(pods: readonly Pod[]): Pod[] {
  return pods.filter(
    ({ status, spec }) => status?.phase === "Running" && status.podIP !== undefined && spec?.hostNetwork !== true,
  );
}

/** What answers for a Service, by TCP. */
function listenersIn(slices: readonly EndpointSlice[]): Listener[] {
  return slices.flatMap(({ metadata, endpoints, ports }) =>
    (endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses)
      .flatMap((address) => {
        const port = ports?.find(({ protocol = "TCP" }) => protocol === "TCP")?.port;
        const service = metadata.labels?.["kubernetes.io/service-name"];
        return port === undefined || service === undefined ? [] : [{ address, port: Number(port), service }];
      }),
  );
}

function lackOf({ asker, targets = [] }: Chances, from: string, to: string): Pick<Chances, "lack"> {
  if (asker === undefined) return { lack: `no pod that runs ${from} could ask` };
  return targets.length === 0 ? { lack: `no Service of the namespace has an endpoint ${to} that is ready` } : {};
}

/** Where the agents carry connections there is nothing to measure but whether the peer answers. */
export function proxyOutcomes(
  isReachable: boolean | undefined,
): Pick<TrialRow["outcomes"], "link" | "latency" | "mtu"> {
  const none: Outcome = { result: "NotTested", detail: "the agents carry connections, and no packets" };
  return {
    link: isReachable
      ? { result: "Passed", detail: "the peer answers" }
      : { result: "Failed", detail: "the peer does not answer: `fjord sites`" },
    latency: none,
    mtu: none,
  };
}

/** What everybody may send in one piece (RFC 8200). */
const LEAST_MTU = 1280;

/** What the gateway has said of a link: nothing is sent for it. */
export function linkOutcomes(
  link: Link | undefined,
  wantedMtu: number,
): Pick<TrialRow["outcomes"], "link" | "latency" | "mtu"> {
  const notTested = (detail: string): Outcome => ({ result: "NotTested", detail });
  if (link === undefined) {
    const none = notTested("there is no Link");
    return { link: { result: "Failed", detail: "there is no Link" }, latency: none, mtu: none };
  }
  const ready = getCondition(link.status?.conditions, "Ready");
  const { latencyMicroseconds, lossPercent, mtu } = link.status ?? {};
  const unknown = notTested("the peer's gateway has answered no probe");
  return {
    link:
      ready === undefined
        ? { result: "Failed", detail: "no gateway has said how it is" }
        : ready.status === "True"
          ? { result: "Passed", detail: "up" }
          : { result: "Failed", detail: [ready.reason, ready.message].filter((text) => text).join(": ") },
    latency:
      lossPercent === undefined
        ? unknown
        : latencyMicroseconds === undefined
          ? { result: "Failed", detail: "all of the last probes were lost" }
          : {
              result: lossPercent <= 20 ? "Passed" : "Failed",
              detail: `${(latencyMicroseconds / 1000).toFixed(1)}ms${lossPercent === 0 ? "" : `, ${lossPercent}% lost`}`,
            },
    mtu:
      mtu === undefined
        ? unknown
        : mtu < LEAST_MTU
          ? {
              result: "Failed",
              detail: `packets of more than ${mtu} bytes get lost: too few for IPv6, and for much else`,
            }
          : { result: "Passed", detail: mtu >= wantedMtu ? String(mtu) : `${mtu} of ${wantedMtu}` },
  };
}
