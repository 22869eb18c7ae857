import type { ContainerStats, SandboxStats } from "../../runtime/stats.ts";
import type { Cgroups } from "./cgroups.ts";
import type { ProcessSandbox } from "./process-sandboxes.ts";
import type { MarkedProcess } from "./process-table.ts";
import { type KernelUnits, usageOf } from "./usage.ts";

export interface StatsFacts {
  readonly sandboxes: Iterable<ProcessSandbox>;
  readonly processes: readonly MarkedProcess[];
  readonly cgroups?: Cgroups;
  readonly boot: string;
  readonly now: number;
  readonly units: KernelUnits;
}

/** What sandboxes and containers use: by their control groups where they have one, else by their processes. */
export function statsOf(facts: StatsFacts): { sandboxes: SandboxStats[]; containers: ContainerStats[] } {
  const { cgroups, boot, now, units } = facts;
  const processes = Map.groupBy(
    facts.processes.filter((each) => !each.keeper),
    (each) => each.container,
  );
  const sandboxes: SandboxStats[] = [];
  const containers: ContainerStats[] = [];
  for (const { record, containers: all } of facts.sandboxes) {
    let count = 0;
    for (const container of all.values()) {
      const startedAt = container.runningSince();
      if (startedAt === undefined) continue;
      const own = processes.get(container.id) ?? [];
      count += own.length;
      const { cgroup, name } = container.record;
      const counted = cgroup === undefined ? undefined : cgroups?.usage(cgroup, now);
      const usage = counted ?? usageOf(own, units, now);
      containers.push({ id: container.id, name, pod: record.pod, startedAt, usage });
    }
    if (record.stoppedAt !== undefined || record.boot !== boot) continue;
    const usage = record.cgroup === undefined ? undefined : cgroups?.usage(record.cgroup, now);
    sandboxes.push({ id: record.id, pod: record.pod, ...(usage ? { usage } : {}), processes: count });
  }
  return { sandboxes, containers };
}
