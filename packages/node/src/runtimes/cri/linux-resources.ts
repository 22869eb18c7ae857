import type { ContainerResources } from "../../runtime/index.ts";
import type { Init } from "./proto/message.ts";
import type { LinuxContainerResources } from "./proto/messages.ts";

/** Microseconds over which the kernel measures a processor limit. */
const PERIOD = 100_000;
/** What the kernel takes; less would be an error. */
const LEAST_QUOTA = 1_000;
const LEAST_SHARES = 2;
const MOST_SHARES = 262_144;

/** The kernel's weight of a processor request: a whole processor is 1024. Without a request: the least there is. */
export function cpuShares(milli: number | undefined): number {
  if (milli === undefined || milli <= 0) return LEAST_SHARES;
  return Math.min(MOST_SHARES, Math.max(LEAST_SHARES, Math.floor((milli * 1024) / 1000)));
}

/** Microseconds of processor time in each period; 0 without a limit. */
export function cpuQuota(milli: number | undefined): number {
  if (milli === undefined || milli <= 0) return 0;
  return Math.max(LEAST_QUOTA, Math.floor((milli * PERIOD) / 1000));
}

/** `2Mi`, as pods say, is `2MB` to the kernel. */
export function hugePageSize(size: string): string {
  return `${size.replace(/i$/, "")}B`;
}

/** In the terms of the container runtime. `unified`: the machine has control groups of version 2 only. */
export function linuxResources(
  resources: ContainerResources,
  options: { unified: boolean },
): Init<LinuxContainerResources> {
  const { cpuRequest, cpuLimit, memoryLimit, oomScoreAdjust, hugePages = {} } = resources;
  return {
    cpuPeriod: BigInt(PERIOD),
    cpuQuota: BigInt(cpuQuota(cpuLimit)),
    cpuShares: BigInt(cpuShares(cpuRequest ?? cpuLimit)),
    memoryLimitInBytes: BigInt(memoryLimit ?? 0),
    oomScoreAdj: BigInt(oomScoreAdjust ?? 0),
    hugepageLimits: Object.entries(hugePages).map(([size, bytes]) => ({
      pageSize: hugePageSize(size),
      limit: BigInt(bytes),
    })),
    // A container of which the kernel has killed one process is as good as dead: let it end as a whole.
    unified: options.unified ? { "memory.oom.group": "1" } : {},
  };
}

/** As `linuxResources`, for a container that is there: to it, nothing means "as before", and less than nothing no limit. */
export function updatedResources(
  resources: ContainerResources,
  options: { unified: boolean },
): Init<LinuxContainerResources> {
  return {
    ...linuxResources(resources, options),
    cpuQuota: BigInt(cpuQuota(resources.cpuLimit) || -1),
    memoryLimitInBytes: BigInt(resources.memoryLimit || -1),
  };
}

/** Back from the runtime's terms; shares that mean "no request" give none. */
export function containerResources(linux: LinuxContainerResources): ContainerResources {
  const shares = Number(linux.cpuShares);
  const quota = Number(linux.cpuQuota);
  const period = Number(linux.cpuPeriod) || PERIOD;
  const memory = Number(linux.memoryLimitInBytes);
  return {
    ...(shares > LEAST_SHARES && { cpuRequest: Math.ceil((shares * 1000) / 1024) }),
    ...(quota > 0 && { cpuLimit: Math.round((quota * 1000) / period) }),
    ...(memory > 0 && { memoryLimit: memory }),
    ...(linux.oomScoreAdj !== 0n && { oomScoreAdjust: Number(linux.oomScoreAdj) }),
  };
}
