// docs/reference/cli.md: every command of `fjord` with its arguments and options, as `--help` has them.
import { Command } from "commander";
import type { CommandContext } from "../../packages/cli/src/command-line/command-context.ts";
import { addCommonOptions } from "../../packages/cli/src/command-line/common-options.ts";
import { commands } from "../../packages/cli/src/commands/index.ts";
import type { GeneratedFile } from "./generated-files.ts";

const WIDTH = 110;

export async function cliReference(): Promise<GeneratedFile> {
  const program = addCommonOptions(new Command("fjord"));
  // Nothing is run: commands look at what the process is only when they are.
  const context = {} as CommandContext;
  for (const { load } of Object.values(commands)) (await load())(program, context);
  const text = `# The command \`fjord\`

Every command with its arguments and options. Written by \`npm run generate\` from what \`--help\` prints;
[fjord](../fjord.md) says how to use it.

${listed(program).map(section).join("\n")}`;
  return { path: "docs/reference/cli.md", text };
}

/** A command, and those below it. */
function listed(command: Command): Command[] {
  const shown = command.commands.filter((each) => !each.name().startsWith("_"));
  return [...(command.parent === null ? [] : [command]), ...shown.flatMap(listed)];
}

function section(command: Command): string {
  const help = command
    .configureHelp({ ...command.configureHelp(), helpWidth: WIDTH, showGlobalOptions: false })
    .helpInformation();
  return `## ${fullName(command)}\n\n\`\`\`\n${help.trimEnd()}\n\`\`\`\n`;
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}
