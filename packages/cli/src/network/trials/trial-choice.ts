import type { Pod } from "@fjord/kube";
import { anyPoliced, type Policed, type PolicyFacts, policed, policedNames } from "./trial-policies.ts";
import type { Target } from "./trials.ts";

/** Something that answers for a Service, by TCP. */
export interface Listener extends Target {
  readonly service: string;
}

/** Who asks in a namespace, and whom. */
export interface Choice {
  readonly asker?: Pod;
  /** By each family that the asker has. */
  readonly listeners: readonly Listener[];
}

export interface Candidates {
  readonly askers: readonly Pod[];
  /** At the site that is asked. */
  readonly listeners: readonly Listener[];
  /** Of the namespace, wherever they run. */
  readonly pods: readonly Pod[];
  readonly policies: PolicyFacts;
}

/** So many are compared where policies are about all of them. */
const MOST_ASKERS = 16;
const MOST_LISTENERS = 64;

/**
 * Pods whose link is tried, and not what keeps them apart: those that no NetworkPolicy is about, else those that policies let pass. The first ones, where there are several of the same
 * sort.
 */
export function chosen({ askers, listeners, pods, policies }: Candidates): Choice {
  const byAddress = new Map(pods.flatMap((pod) => addressesOf(pod).map((address) => [address, pod] as const)));
  const isOpen = (asker: Pod) => policedNames(policies, asker) === undefined;
  let best: { readonly choice: Choice; readonly rank: number } | undefined;
  for (const asker of [...askers.filter(isOpen), ...askers.filter((each) => !isOpen(each))].slice(0, MOST_ASKERS)) {
    const found = familiesOf(asker).flatMap((isIPv6) => {
      const all = listeners.filter(({ address }) => address.includes(":") === isIPv6);
      return leastPoliced(all, (each) => policed(policies, asker, { ...each, pod: byAddress.get(each.address) }));
    });
    // Who has nobody to ask is no choice while others have.
    const missing = found.length === 0 ? NOBODY : 0;
    const rank =
      missing + rankOf(policedNames(policies, asker)) + found.reduce((sum, each) => sum + rankOf(each.policed), 0);
    if (best === undefined || rank < best.rank) best = { choice: { asker, listeners: found }, rank };
    if (rank === 0) break;
  }
  return best?.choice ?? { listeners: [] };
}

/** What policies say of a Service, any of whose endpoints may be led to. */
export function policedService(service: string, asker: Pod, { listeners, pods, policies }: Omit<Candidates, "askers">) {
  const byAddress = new Map(pods.flatMap((pod) => addressesOf(pod).map((address) => [address, pod] as const)));
  const all = listeners.filter((each) => each.service === service).slice(0, MOST_LISTENERS);
  return anyPoliced([
    policedNames(policies, asker),
    ...all.map((each) => policed(policies, asker, { ...each, pod: byAddress.get(each.address) })),
  ]);
}

/**
 * Those first whose pods say that they listen at the port, or are asked by a probe whether they do: an endpoint may be ready where nothing listens, as
 * that of a headless Service whose port is there for its form alone, and its silence says nothing of a link.
 */
export function likelyFirst(listeners: readonly Listener[], pods: readonly Pod[]): Listener[] {
  const byAddress = new Map(pods.flatMap((pod) => addressesOf(pod).map((address) => [address, pod] as const)));
  const isLikely = ({ address, port }: Listener) =>
    byAddress
      .get(address)
      ?.spec?.containers?.some(
        ({ ports, readinessProbe }) =>
          readinessProbe !== undefined || ports?.some(({ containerPort }) => Number(containerPort) === port),
      ) === true;
  const { likely = [], others = [] } = Object.groupBy(listeners, (each) => (isLikely(each) ? "likely" : "others"));
  return [...likely, ...others];
}

const NOBODY = 100;

function rankOf(policed: Policed | undefined): number {
  return policed === undefined ? 0 : policed.isDropped ? 10 : 1;
}

/** The first of the best, with what policies say of it; none where there are none. */
function leastPoliced(all: readonly Listener[], judge: (each: Listener) => Policed | undefined): Listener[] {
  let best: Listener | undefined;
  for (const each of all.slice(0, MOST_LISTENERS)) {
    const found = judge(each);
    if (best === undefined || rankOf(found) < rankOf(best.policed))
      best = { ...each, ...(found && { policed: found }) };
    if (found === undefined) break;
  }
  return best === undefined ? [] : [best];
}

/** False for IPv4: what passes by one family may not by the other. */
function familiesOf(asker: Pod): boolean[] {
  const own = addressesOf(asker);
  return [false, true].filter((isIPv6) => own.some((address) => address.includes(":") === isIPv6));
}

function addressesOf({ status }: Pod): string[] {
  return status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP === undefined ? [] : [status.podIP]);
}
