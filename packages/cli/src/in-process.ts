import { Command, CommanderError } from "commander";
import type { CommandContext } from "./command-line/command-context.ts";
import { addCordon } from "./commands/cordon.ts";
import { addOffload } from "./commands/offload.ts";
import { addPair } from "./commands/pair.ts";
import { addPeer } from "./commands/peer.ts";
import { addSites } from "./commands/sites.ts";

/**
 * Runs `fjord` with some words in this process and gives what it printed: for programs that run many commands, each of which
 * would cost more as a process than by what it does. Pairing, peering, offloading, cordoning and listing sites only.
 */
export async function runFjord(
  words: readonly string[],
  means: Pick<CommandContext, "env" | "home" | "signal" | "clock" | "random" | "logger">,
): Promise<string> {
  let printed = "";
  const print = (text: string) => {
    printed += text;
  };
  const context: CommandContext = {
    ...means,
    print,
    note: () => {},
    warn: () => {},
    paint: (_, text) => text,
    isTerminal: false,
    setExitCode: () => {},
  };
  const program = new Command("fjord").exitOverride().configureOutput({ writeErr: () => {} });
  for (const add of [addPair, addPeer, addSites, addOffload, addCordon]) add(program, context);
  try {
    await program.parseAsync([...words], { from: "user" });
  } catch (error) {
    // What was wrong with the words is told by its message alone.
    throw error instanceof CommanderError ? new Error(error.message, { cause: error }) : error;
  }
  return printed;
}
