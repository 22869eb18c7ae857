import { completionScripts } from "@fjord/base/shell-completion";
import type { Command } from "commander";

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("print a script that completes commands, options and their values in bash, zsh or fish")
    .argument("<shell>", Object.keys(completionScripts).join(", "))
    .action((shell: string, _, command: Command) => {
      const script = Object.entries(completionScripts).find(([name]) => name === shell)?.[1];
      if (script === undefined) {
        const known = Object.keys(completionScripts).join(", ");
        command.error(`error: there is no completion for ${shell}, only for ${known}`);
      } else process.stdout.write(script(program, "run"));
    });
}
