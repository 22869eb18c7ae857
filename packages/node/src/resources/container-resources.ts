import type { Pod } from "@fjord/kube";
import { inThousandths, inUnits, parseQuantity, podLimits, podRequests, type ResourceAmounts } from "@fjord/kube";
import type { ContainerResources } from "../runtime/resources.ts";
import { oomScoreAdjust } from "./oom-score.ts";

interface Requirements {
  readonly requests?: Readonly<Record<string, string | number>>;
  readonly limits?: Readonly<Record<string, string | number>>;
}

/** What a container may use, in the machine's terms. */
export function containerResources(
  pod: Pod,
  container: { resources?: Requirements },
  memoryCapacity: number,
): ContainerResources {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const hugePages = hugePagesOf(limits);
  return {
    ...optional("cpuRequest", thousandths(requests.cpu ?? limits.cpu)),
    ...optional("cpuLimit", thousandths(limits.cpu)),
    ...optional("memoryRequest", units(requests.memory ?? limits.memory)),
    ...optional("memoryLimit", units(limits.memory)),
    oomScoreAdjust: oomScoreAdjust(pod, container, memoryCapacity),
    ...(Object.keys(hugePages).length > 0 && { hugePages }),
  };
}

/** What all containers of a pod may use together: limits only where each of them has one. */
export function wholePodResources(pod: Pod): ContainerResources {
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  return {
    ...optional("cpuRequest", amountOf(requests, "cpu", inThousandths)),
    ...optional("cpuLimit", amountOf(limits, "cpu", inThousandths)),
    ...optional("memoryRequest", amountOf(requests, "memory", inUnits)),
    ...optional("memoryLimit", amountOf(limits, "memory", inUnits)),
  };
}

function amountOf(amounts: ResourceAmounts, name: string, convert: (amount: bigint) => number): number | undefined {
  const amount = amounts.get(name);
  return amount === undefined ? undefined : convert(amount);
}

function thousandths(amount: string | number | undefined): number | undefined {
  return amount === undefined ? undefined : inThousandths(parseQuantity(amount));
}

function units(amount: string | number | undefined): number | undefined {
  return amount === undefined ? undefined : inUnits(parseQuantity(amount));
}

const HUGE_PAGES = "hugepages-";

function hugePagesOf(limits: Readonly<Record<string, string | number>>): Record<string, number> {
  const sizes = Object.entries(limits).filter(([name]) => name.startsWith(HUGE_PAGES));
  return Object.fromEntries(
    sizes.map(([name, amount]) => [name.slice(HUGE_PAGES.length), inUnits(parseQuantity(amount))]),
  );
}

/** Zero means no limit, and no share of its own. */
function optional(name: keyof ContainerResources, amount: number | undefined): Partial<ContainerResources> {
  return amount === undefined || amount === 0 ? {} : { [name]: amount };
}
