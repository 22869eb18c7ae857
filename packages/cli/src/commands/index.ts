import type { Command } from "commander";
import type { CommandContext } from "../command-line/command-context.ts";

export interface LazyCommand {
  readonly load: () => Promise<(program: Command, context: CommandContext) => void>;
  /** It speaks of all the others. */
  readonly needsAll?: boolean;
}

/** In the order of `--help`. A command is loaded when it is asked for: most need only a part of what all need. */
export const commands: Readonly<Record<string, LazyCommand>> = {
  init: { load: async () => (await import("./init.ts")).addInit },
  uninstall: { load: async () => (await import("./uninstall.ts")).addUninstall },
  pair: { load: async () => (await import("./pair.ts")).addPair },
  peer: { load: async () => (await import("./peer.ts")).addPeer },
  unpeer: { load: async () => (await import("./unpeer.ts")).addUnpeer },
  sites: { load: async () => (await import("./sites.ts")).addSites },
  status: { load: async () => (await import("./status.ts")).addStatus },
  offload: { load: async () => (await import("./offload.ts")).addOffload },
  unoffload: { load: async () => (await import("./unoffload.ts")).addUnoffload },
  move: { load: async () => (await import("./move.ts")).addMove },
  cordon: { load: async () => (await import("./cordon.ts")).addCordon },
  network: { load: async () => (await import("./network.ts")).addNetwork },
  explain: { load: async () => (await import("./explain.ts")).addExplain },
  logs: { load: async () => (await import("./logs.ts")).addLogs },
  kubectl: { load: async () => (await import("./kubectl.ts")).addKubectl },
  dashboard: { load: async () => (await import("./dashboard.ts")).addDashboard },
  micro: { load: async () => (await import("./micro.ts")).addMicro },
  testbed: { load: async () => (await import("./testbed.ts")).addTestbed },
  version: { load: async () => (await import("./version.ts")).addVersion },
  "bug-report": { load: async () => (await import("./bug-report.ts")).addBugReport },
  completion: { load: async () => (await import("./completion.ts")).addCompletion, needsAll: true },
};

const families = new Map([
  ["upgrade", "init"],
  ["drain", "cordon"],
  ["uncordon", "cordon"],
  ["__complete", "completion"],
]);

/** Those that have to be loaded for what was typed: some commands come together, and `--help` speaks of all. */
export function neededFor(asked: string): readonly LazyCommand[] {
  const name = families.get(asked) ?? asked;
  const one = Object.hasOwn(commands, name) ? commands[name] : undefined;
  return one === undefined || one.needsAll ? Object.values(commands) : [one];
}
