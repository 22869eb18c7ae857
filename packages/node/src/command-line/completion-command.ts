import type { Command } from "commander";

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("print a script that completes commands, options and their values in bash")
    .argument("<shell>", "bash")
    .action((shell: string, _, command: Command) => {
      if (shell !== "bash") command.error(`error: there is no completion for ${shell}, only for bash`);
      process.stdout.write(bashCompletion(program));
    });
}

/** A function for bash; where it offers nothing, as behind an option that takes a file, bash offers files. */
export function bashCompletion(program: Command): string {
  const cases = program.commands.map(
    (command) => `    ${command.name()}) words="${command.options.flatMap(({ long }) => long ?? []).join(" ")}" ;;`,
  );
  const values = new Map(
    program.commands
      .flatMap(({ options }) => options)
      .filter(({ required }) => required)
      .map(({ long, argChoices = [] }) => [long, argChoices.join(" ")]),
  );
  return `# alias fjord-node='npm run --silent node --'; source <(fjord-node completion bash)
_fjord_node() {
  local words
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    *) words="${program.commands.map((command) => command.name()).join(" ")} --help --version" ;;
  esac
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${[...values].map(([option, choices]) => `    ${option}) words="${choices}" ;;`).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fjord_node fjord-node
`;
}
