import type { Contract } from "@fjord/api";
import type { Predecessors } from "./succession.ts";
import { SHARED_CPU, SHARED_PODS } from "./topology.ts";

const shared = { cpu: SHARED_CPU, pods: SHARED_PODS } as const;

/**
 * What a provider's contracts promise beyond what it shares, if they do. Contracts of one line count once, whatever has gone between
 * them: `predecessors` has what each contract supersedes that there ever was.
 */
export function brokenPromise(contracts: readonly Contract[], predecessors: Predecessors): string | undefined {
  const live = contracts.filter(
    ({ spec, status }) => status?.side === "Provider" && status.phase !== "Ended" && spec.standing !== "Ended",
  );
  const rootOf = (id: string): string => {
    const before = predecessors.get(id);
    return before === undefined ? id : rootOf(before);
  };
  for (const name of ["cpu", "pods"] as const) {
    const lines = new Map<string, number>();
    for (const contract of live) {
      const root = rootOf(contract.spec.terms.id);
      const amount = Number(contract.spec.terms.resources[name] ?? 0);
      lines.set(root, Math.max(lines.get(root) ?? 0, amount));
    }
    const sum = [...lines.values()].reduce((all, each) => all + each, 0);
    if (sum > shared[name]) {
      const which = live.map(({ spec, status }) => `${spec.terms.id} ${status?.phase} ${spec.terms.resources[name]}`);
      return `promises ${sum} ${name} and shares ${shared[name]}: ${which.join(", ")}`;
    }
  }
  return undefined;
}
