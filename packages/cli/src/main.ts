import { homedir } from "node:os";
import { interruption, lastWords, silentLogger, systemClock } from "@fjord/base";
import { Command, CommanderError } from "commander";
import type { CommandContext } from "./command-line/command-context.ts";
import { FJORD_VERSION } from "./version.ts";

const interrupt = interruption(process);
// A pipe that its reader has closed, as `| head` does, is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  interrupt.abort(error);
});

type Add = (program: Command, context: CommandContext) => void;

/** In the order of `--help`. A command is loaded when it is asked for: most need only a part of what all need. */
const commands: Readonly<Record<string, () => Promise<Add>>> = {
  pair: async () => (await import("./commands/pair.ts")).addPair,
  peer: async () => (await import("./commands/peer.ts")).addPeer,
  unpeer: async () => (await import("./commands/unpeer.ts")).addUnpeer,
  sites: async () => (await import("./commands/sites.ts")).addSites,
  status: async () => (await import("./commands/status.ts")).addStatus,
  offload: async () => (await import("./commands/offload.ts")).addOffload,
  unoffload: async () => (await import("./commands/unoffload.ts")).addUnoffload,
  cordon: async () => (await import("./commands/cordon.ts")).addCordon,
  micro: async () => (await import("./commands/micro.ts")).addMicro,
  completion: async () => (await import("@fjord/node/completion")).addCompletion,
};
const family: Readonly<Record<string, string>> = { drain: "cordon", uncordon: "cordon" };

const program = new Command("fjord")
  .description("One computing continuum out of many Kubernetes clusters.")
  .version(FJORD_VERSION)
  .showSuggestionAfterError()
  .showHelpAfterError("(--help lists what there is)")
  .exitOverride();
const context: CommandContext = {
  env: process.env,
  home: homedir(),
  signal: interrupt.signal,
  clock: systemClock,
  random: Math.random,
  logger: silentLogger,
  print: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  isTerminal: process.stdout.isTTY === true,
};

try {
  const words = process.argv.slice(2).flatMap(kubectlWay);
  const asked = words[0] ?? "";
  const one = commands[family[asked] ?? asked];
  const needed = one === undefined || asked === "completion" ? Object.values(commands) : [one];
  for (const load of needed) (await load())(program, context);
  await program.parseAsync(words, { from: "user" });
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else report(error);
}

/** kubectl takes `-o=json` for `-o json`. */
function kubectlWay(word: string): string[] {
  const [, option, value] = /^(-[a-z])=(.*)$/s.exec(word) ?? [];
  return option === undefined || value === undefined ? [word] : [option, value];
}

function report(error: unknown): void {
  process.exitCode = 1;
  if (interrupt.signal.aborted) {
    if (interrupt.signal.reason?.code === "EPIPE") return;
    process.exitCode = 130;
    process.stderr.write("interrupted\n");
    return;
  }
  process.stderr.write(lastWords(error));
}
