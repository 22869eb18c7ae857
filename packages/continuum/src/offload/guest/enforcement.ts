import type { Pod } from "@fjord/kube";
import { amountsOf } from "@fjord/node/pod-status";
import type { LiveContract } from "../../live-contracts.ts";

type PodSpec = NonNullable<Pod["spec"]>;

export interface Shortcoming {
  readonly reason: "RequestsMissing" | "LimitsDiffer";
  readonly message: string;
}

/** What the pod leaves unstated that its contract asks pods to state; undefined where it says all. */
export function shortcoming(
  spec: PodSpec,
  { enforcement, resources }: Pick<LiveContract, "enforcement" | "resources">,
): Shortcoming | undefined {
  if (enforcement === "None") return undefined;
  const names = Object.keys(resources).filter((name) => name !== "pods");
  for (const { name: container, resources: given } of [...(spec.initContainers ?? []), ...spec.containers]) {
    const requests = amountsOf(given?.requests ?? {});
    const limits = amountsOf(given?.limits ?? {});
    for (const name of names) {
      // Devices are asked for by those that use them; processors and memory are used by all.
      if (!requests.has(name) && !limits.has(name) && name.includes("/")) continue;
      const request = requests.get(name) ?? limits.get(name);
      if (request === undefined) {
        return { reason: "RequestsMissing", message: `container ${container} states no request for ${name}` };
      }
      if (enforcement === "LimitsEqualRequests" && limits.get(name) !== request) {
        return {
          reason: "LimitsDiffer",
          message: `the limit of container ${container} for ${name} is not its request`,
        };
      }
    }
  }
  return undefined;
}
