import { type Command, Option } from "commander";
import type { CommandContext } from "../command-line/command-context.ts";
import { complete, type Offer } from "../completion/complete.ts";
import { namesOf } from "../completion/names.ts";
import { completionScripts } from "../completion/scripts.ts";
import { InvalidValue } from "../errors.ts";

/** `completion`, and the hidden command that the scripts ask for what could come next. */
export function addCompletion(program: Command, context: CommandContext): void {
  program
    .command("completion")
    .description("print a script that completes commands, options and names in bash, zsh or fish")
    .argument("<shell>", Object.keys(completionScripts).join(", "))
    .action((shell: string) => {
      const script = Object.entries(completionScripts).find(([name]) => name === shell)?.[1];
      const known = Object.keys(completionScripts).join(", ");
      if (script === undefined)
        throw new InvalidValue({ option: "the shell", value: shell, reason: `it must be one of ${known}` });
      context.print(script);
    });
  program
    .enablePositionalOptions()
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .addOption(new Option("--never").hideHelp())
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: readonly string[]) => {
      const offered = complete(program, words);
      const names: Offer["words"] = (await namesOf(offered.sources, offered.flags, context)).map((word) => ({ word }));
      const prefix = offered.prefix;
      const lines = [...offered.words, ...names].filter(({ word }) => word.startsWith(prefix));
      for (const { word, about } of lines) context.print(about === undefined ? `${word}\n` : `${word}\t${about}\n`);
      if (offered.files) context.print(":files\n");
    });
}
