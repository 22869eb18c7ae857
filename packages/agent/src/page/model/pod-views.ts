import type { Pod } from "@fjord/kube";
import { type PlacementInput, placementOf } from "./placement.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { ContainerView, PodView } from "./snapshot.ts";
import { pathOf } from "./workload-views.ts";

export function podView(pod: Pod, facts: PodFacts, input: PlacementInput): PodView {
  const { metadata, status } = pod;
  const path = pathOf(facts, input.known);
  return {
    namespace: facts.namespace,
    name: metadata.name ?? "",
    workload: facts.workload,
    site: path === "pending" ? "" : input.known.siteOfNode(facts.node),
    ...(facts.node !== undefined && { node: facts.node }),
    path,
    phase: facts.phase,
    ready: facts.ready,
    restarts: facts.restarts,
    ...(status?.podIP !== undefined && { ip: status.podIP }),
    ...(metadata.creationTimestamp !== undefined && { since: metadata.creationTimestamp }),
    placement: placementOf(facts, input),
    containers: containersOf(pod),
  };
}

function containersOf({ spec, status }: Pod): ContainerView[] {
  const statuses = new Map((status?.containerStatuses ?? []).map((each) => [each.name, each]));
  return (spec?.containers ?? []).map(({ name, image = "" }) => {
    const found = statuses.get(name);
    return {
      name,
      image,
      ready: found?.ready ?? false,
      restarts: found?.restartCount ?? 0,
      state: stateOf(found?.state),
    };
  });
}

function stateOf(state: NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number]["state"]): string {
  if (state?.running !== undefined) return "running";
  if (state?.terminated !== undefined) return `ended with ${state.terminated.exitCode}`;
  return state?.waiting?.reason ?? "waiting";
}
