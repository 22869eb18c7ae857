import type { Command } from "commander";

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("print a script that completes commands, options and their values in bash, zsh or fish")
    .argument("<shell>", Object.keys(scripts).join(", "))
    .action((shell: string, _, command: Command) => {
      const script = Object.entries(scripts).find(([name]) => name === shell)?.[1];
      if (script === undefined) {
        const known = Object.keys(scripts).join(", ");
        command.error(`error: there is no completion for ${shell}, only for ${known}`);
      } else process.stdout.write(script(program));
    });
}

/** A function for bash; where it offers nothing, as behind an option that takes a file, bash offers files. */
export function bashCompletion(program: Command): string {
  const cases = program.commands.map(
    (command) => `    ${command.name()}) offered="${[...optionsOf(command), ...argumentsOf(command)].join(" ")}" ;;`,
  );
  const values = new Map(
    program.commands
      .flatMap(({ options }) => options)
      .filter(({ required }) => required)
      .map(({ long, argChoices = [] }) => [long, argChoices.join(" ")]),
  );
  return `# alias fjord-node='npm run --silent node --'; source <(fjord-node completion bash)
_fjord_node() {
  local offered
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    *) offered="${program.commands.map((command) => command.name()).join(" ")} --help --version" ;;
  esac
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${[...values].map(([option, choices]) => `    ${option}) offered="${choices}" ;;`).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fjord_node fjord-node
`;
}

/** zsh runs functions for bash where it is asked to. */
export function zshCompletion(program: Command): string {
  const [, ...lines] = bashCompletion(program).split("\n");
  return `# fjord-node() { npm run --silent node -- "$@" }; source <(fjord-node completion zsh)
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${lines.join("\n")}`;
}

/** fish asks each line whether it applies; options that take no words of a list are completed with files. */
export function fishCompletion(program: Command): string {
  const lines = program.commands.flatMap((command) => {
    const name = command.name();
    const only = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    return [
      `complete -c fjord-node -f -n __fish_use_subcommand -a ${name} -d ${quoted(command.description())}`,
      ...argumentsOf(command).map((word) => `complete -c fjord-node -f ${only} -a ${word}`),
      ...command.options.flatMap(({ long, required, argChoices, description }) => {
        if (long === undefined) return [];
        const value = argChoices ? ` -x -a ${quoted(argChoices.join(" "))}` : required ? " -r -F" : " -f";
        return [`complete -c fjord-node ${only} -l ${long.slice(2)}${value} -d ${quoted(description)}`];
      }),
    ];
  });
  return `# alias fjord-node='npm run --silent node --'; fjord-node completion fish | source\n${lines.join("\n")}\n`;
}

function optionsOf({ options }: Command): string[] {
  return options.flatMap(({ long }) => long ?? []);
}

/** Of commands that take one of a few words. */
function argumentsOf(command: Command): string[] {
  return command.name() === "completion" ? Object.keys(scripts) : [];
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
