import type { Command } from "commander";
import type { CommandContext } from "./context.ts";

export function addCompletion(program: Command, context: CommandContext): void {
  program
    .command("completion")
    .description("print a script that completes commands, options and site names in bash")
    .argument("<shell>", "bash")
    .action((shell: string, _, command: Command) => {
      if (shell !== "bash") command.error(`error: there is no completion for ${shell}, only for bash`);
      context.out(bashCompletion(program));
    });
}

/** For a `testbed` that is an alias or a function: bash completes those by name, too. */
export function bashCompletion(program: Command): string {
  const common = program.options.flatMap(({ long }) => long ?? []);
  const cases = program.commands.map((command) => {
    const options = command.options.flatMap(({ long }) => long ?? []);
    const takes = (...names: string[]) => command.registeredArguments.some((each) => names.includes(each.name()));
    // Of a bed in the current directory's repository.
    const sites = takes("site", "from", "to") ? " $(cd .fjord/testbed 2>/dev/null && echo site-*)" : "";
    const processes = takes("process") ? " $(cd .fjord/testbed/$previous/logs 2>/dev/null && basename -s .log *)" : "";
    return `    ${command.name()}) words="${[...options, ...common].join(" ")}${sites}${processes}" ;;`;
  });
  const choices = new Map(
    program.commands
      .flatMap((command) => command.options)
      .flatMap(({ short, long, argChoices }) =>
        argChoices === undefined ? [] : [[[short, long].filter(Boolean).join("|"), argChoices.join(" ")] as const],
      ),
  );
  const values = [...choices].map(([flags, words]) => `    ${flags}) words="${words}" ;;`);
  return `# alias testbed='npm run --silent testbed --'; source <(testbed completion bash)
_testbed() {
  local words previous="\${COMP_WORDS[COMP_CWORD-1]}"
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    *) words="${[...program.commands.map((command) => command.name()), ...common].join(" ")}" ;;
  esac
  case "$previous" in
${values.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _testbed testbed`;
}
