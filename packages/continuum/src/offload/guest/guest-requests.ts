import type { Pod } from "@fjord/kube";
import { amountsOf, podRequests, type ResourceAmounts } from "@fjord/node/pod-status";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

/**
 * What a spec asks for once the provider's API has completed it: of what it states only a limit of, as much as that. A
 * server that knows no amounts for the pod as a whole drops them, so that the containers' own count where they are more.
 */
export function guestRequests(spec: PodSpec): ResourceAmounts {
  const { resources, ...rest } = spec;
  const ofContainers = podRequests({ spec: { ...rest, ...completed(spec) } } as Pod);
  return larger(ofContainers, amountsOf({ ...resources?.limits, ...resources?.requests }));
}

/** Of each resource the larger amount. */
export function larger(a: ResourceAmounts, b: ResourceAmounts): ResourceAmounts {
  const most = new Map(a);
  for (const [name, amount] of b) if (amount > (most.get(name) ?? 0n)) most.set(name, amount);
  return most;
}

/** Whether an amount anywhere in the spec is below nothing: it would make room for what others ask for. */
export function asksForLessThanNothing(spec: PodSpec): boolean {
  const { initContainers = [], containers } = spec;
  const given = [...initContainers, ...containers, spec].flatMap(({ resources }) => [
    resources?.requests,
    resources?.limits,
  ]);
  return [...given, spec.overhead].some((amounts = {}) =>
    amountsOf(amounts)
      .values()
      .some((amount) => amount < 0n),
  );
}

function completed({ initContainers = [], containers }: PodSpec): Pick<PodSpec, "initContainers" | "containers"> {
  const complete = (container: Container): Container => {
    const { requests, limits } = container.resources ?? {};
    return { ...container, resources: { requests: { ...limits, ...requests } } };
  };
  return { initContainers: initContainers.map(complete), containers: containers.map(complete) };
}
