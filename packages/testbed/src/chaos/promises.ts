import type { Contract } from "@fjord/api";
import { SHARED_CPU, SHARED_PODS } from "./topology.ts";

const shared = { cpu: SHARED_CPU, pods: SHARED_PODS } as const;

/** What a provider's contracts promise beyond what it shares, if they do. Contracts of one line count once. */
export function brokenPromise(contracts: readonly Contract[]): string | undefined {
  const live = contracts.filter(
    ({ spec, status }) => status?.side === "Provider" && status.phase !== "Ended" && spec.standing !== "Ended",
  );
  // Those that have ended as well: what two of a line supersede may be over.
  const byId = new Map(contracts.map((contract) => [contract.spec.terms.id, contract]));
  const rootOf = (contract: Contract): string => {
    const { id, supersedes } = contract.spec.terms;
    const before = supersedes === undefined ? undefined : byId.get(supersedes);
    return before === undefined ? (supersedes ?? id) : rootOf(before);
  };
  for (const name of ["cpu", "pods"] as const) {
    const lines = new Map<string, number>();
    for (const contract of live) {
      const root = rootOf(contract);
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
