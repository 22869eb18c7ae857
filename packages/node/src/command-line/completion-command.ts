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
  const { name, function_, alias } = namesOf(program);
  return `# ${alias}; source <(${name} completion bash)
${function_}() {
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
complete -o default -F ${function_} ${name}
`;
}

/** zsh runs functions for bash where it is asked to. */
export function zshCompletion(program: Command): string {
  const [, ...lines] = bashCompletion(program).split("\n");
  const { name, script } = namesOf(program);
  return `# ${name}() { npm run --silent ${script} -- "$@" }; source <(${name} completion zsh)
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${lines.join("\n")}`;
}

/** fish asks each line whether it applies; options that take no words of a list are completed with files. */
export function fishCompletion(program: Command): string {
  const { name: own, alias } = namesOf(program);
  const lines = program.commands.flatMap((command) => {
    const name = command.name();
    const only = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    return [
      `complete -c ${own} -f -n __fish_use_subcommand -a ${name} -d ${quoted(command.description())}`,
      ...argumentsOf(command).map((word) => `complete -c ${own} -f ${only} -a ${word}`),
      ...command.options.flatMap(({ long, required, argChoices, description }) => {
        if (long === undefined) return [];
        const value = argChoices ? ` -x -a ${quoted(argChoices.join(" "))}` : required ? " -r -F" : " -f";
        return [`complete -c ${own} ${only} -l ${long.slice(2)}${value} -d ${quoted(description)}`];
      }),
    ];
  });
  return `# ${alias}; ${own} completion fish | source\n${lines.join("\n")}\n`;
}

function optionsOf({ options }: Command): string[] {
  return options.flatMap(({ long }) => long ?? []);
}

/** Of commands that take one of a few words, or have commands of their own. */
function argumentsOf(command: Command): string[] {
  if (command.name() === "completion") return Object.keys(scripts);
  return command.commands.map((each) => each.name());
}

/** What the program is called, in a shell and in this repository. */
function namesOf(program: Command) {
  const name = program.name();
  const script = name.replace(/^fjord-/, "");
  return {
    name,
    script,
    function_: `_${name.replaceAll("-", "_")}`,
    alias: `alias ${name}='npm run --silent ${script} --'`,
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
