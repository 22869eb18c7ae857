import { didYouMean } from "@fjord/base";
import { Command } from "commander";

/** A group of commands (`fjord` itself, `fjord network`) that is asked for none of them answers with its help: that is no mistake. */
export class FjordCommand extends Command {
  override createCommand(name?: string): FjordCommand {
    return new FjordCommand(name);
  }

  override help(): never {
    return super.help();
  }
}

/** What `help` and some names ask for, as `help network status`: commander's own looks at the first of them only. */
export function showHelp(program: Command, words: readonly string[]): never {
  let command = program;
  for (const word of words.filter((each) => !each.startsWith("-") && each !== "help")) {
    // What follows are arguments, as in `help peer lively-wave`.
    if (command.commands.length === 0) break;
    const found = command.commands.find((each) => each.name() === word);
    const names = command.commands.map((each) => each.name()).filter((name) => !name.startsWith("_"));
    if (found === undefined) return program.error(`error: unknown command '${word}'${didYouMean(word, names)}`);
    command = found;
  }
  return command.help();
}
