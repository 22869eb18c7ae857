/** What is asked of a command: commander's have it. */
export interface CompletedCommand {
  name(): string;
  description(): string;
  readonly commands: readonly CompletedCommand[];
  readonly options: readonly {
    readonly long?: string | undefined;
    readonly required: boolean;
    readonly argChoices?: readonly string[] | undefined;
    readonly description: string;
  }[];
}

/** The shells that there are scripts for. */
export const completionScripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** A program that commands are added to: commander's is one. */
export interface CompletedProgram extends CompletedCommand {
  command(name: string): AddedCommand;
}

interface AddedCommand {
  description(text: string): AddedCommand;
  argument(name: string, about: string): AddedCommand;
  action(run: (shell: string, options: unknown, command: { error(message: string): void }) => void): unknown;
}

/** Adds the command `completion`. `unnamed`: the command that runs where none is named. */
export function addCompletion(program: CompletedProgram, print: (script: string) => void, unnamed?: string): void {
  const shells = Object.keys(completionScripts).join(", ");
  program
    .command("completion")
    .description("print a script that completes commands, options and their values in bash, zsh or fish")
    .argument("<shell>", shells)
    .action((shell, _, command) => {
      const script = Object.entries(completionScripts).find(([name]) => name === shell)?.[1];
      if (script === undefined) command.error(`error: there is no completion for ${shell}, only for ${shells}`);
      else print(script(program, unnamed));
    });
}

/** `unnamed`: the command that runs where none is named. A function for bash; where it offers nothing, as behind an option that takes a file, bash offers files. */
export function bashCompletion(program: CompletedCommand, unnamed = ""): string {
  const plain = program.commands.find((command) => command.name() === unnamed);
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
    *) offered="${[...program.commands.map((command) => command.name()), ...(plain ? optionsOf(plain) : [])].join(" ")} --help --version" ;;
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
export function zshCompletion(program: CompletedCommand, unnamed = ""): string {
  const [, ...lines] = bashCompletion(program, unnamed).split("\n");
  const { name, script } = namesOf(program);
  return `# ${name}() { npm run --silent ${script} -- "$@" }; source <(${name} completion zsh)
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${lines.join("\n")}`;
}

/** fish asks each line whether it applies; options that take no words of a list are completed with files. */
export function fishCompletion(program: CompletedCommand, unnamed = ""): string {
  const { name: own, alias } = namesOf(program);
  const lines = program.commands.flatMap((command) => {
    const name = command.name();
    const seen = `__fish_seen_subcommand_from ${name}`;
    const only = `-n ${quoted(name === unnamed ? `${seen}; or __fish_use_subcommand` : seen)}`;
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

function optionsOf({ options }: CompletedCommand): string[] {
  return options.flatMap(({ long }) => long ?? []);
}

/** Of commands that take one of a few words, or have commands of their own. */
function argumentsOf(command: CompletedCommand): string[] {
  if (command.name() === "completion") return Object.keys(completionScripts);
  return command.commands.map((each) => each.name());
}

/** What the program is called, in a shell and in this repository. */
function namesOf(program: CompletedCommand) {
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
