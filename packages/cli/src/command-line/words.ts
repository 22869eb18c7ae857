/** What was typed, as far as it concerns all commands. */
export interface Words {
  readonly words: readonly string[];
  /** The command. */
  readonly asked: string;
  readonly quiet: boolean;
}

/** Commands that hand what follows them to another program, untouched. */
const HANDED_ON = ["kubectl", "testbed"];
const QUIET = ["-q", "--quiet"];
const HELP = ["-h", "--help"];
/** What kubectl takes before its command too. */
const CLUSTER = /^(--kubeconfig|--context|--namespace|-n)(=.*)?$/s;

/**
 * Takes `-q` wherever it stands, `-h sites` for `sites -h`, `--context wave sites` for `sites --context wave`, and kubectl's
 * `-o=json` for `-o json`.
 */
export function readWords(given: readonly string[]): Words {
  const typed = commandFirst(given);
  const at = typed.findIndex((word) => !word.startsWith("-"));
  const asked = typed[at] ?? "";
  if (at > 0 && typed.slice(0, at).some((word) => HELP.includes(word))) {
    const words = HANDED_ON.includes(asked) ? ["help", asked] : [...typed.slice(at), "--help"];
    return { words, asked, quiet: false };
  }
  const handedOn = HANDED_ON.includes(asked);
  const dashes = typed.indexOf("--");
  const end = handedOn ? at + 1 : dashes === -1 || asked === "__complete" ? typed.length : dashes;
  const ours = asked === "__complete" ? typed : typed.slice(0, end).filter((word) => !QUIET.includes(word));
  const words = [...(asked === "__complete" ? ours : ours.flatMap(kubectlWay)), ...typed.slice(end)];
  return { words, asked, quiet: typed.slice(0, end).some((word) => QUIET.includes(word)) };
}

/** Whether JSON is asked for, also where the words around that cannot be understood. */
export function asksForJson({ words, asked }: Pick<Words, "words" | "asked">): boolean {
  if (HANDED_ON.includes(asked)) return false;
  const dashes = words.indexOf("--");
  const ours = dashes === -1 ? words : words.slice(0, dashes);
  return ours.some((word, at) =>
    word === "-o" || word === "--output" ? ours[at + 1] === "json" : /^(?:-o|--output=)json$/.test(word),
  );
}

function commandFirst(typed: readonly string[]): readonly string[] {
  const moved: string[] = [];
  const before: string[] = [];
  let at = 0;
  for (let word = typed[at]; word?.startsWith("-"); word = typed[at]) {
    const [, option, value] = CLUSTER.exec(word) ?? [];
    const taken = typed.slice(at, at + (option !== undefined && value === undefined ? 2 : 1));
    (option === undefined ? before : moved).push(...taken);
    at += taken.length;
  }
  const rest = typed.slice(at);
  if (moved.length === 0 || rest.length === 0) return typed;
  const dashes = rest.indexOf("--");
  // What is handed on is not ours to add to.
  const end = HANDED_ON.includes(rest[0] ?? "") ? 1 : dashes === -1 ? rest.length : dashes;
  return [...before, ...rest.slice(0, end), ...moved, ...rest.slice(end)];
}

function kubectlWay(word: string): string[] {
  const [, option, value] = /^(-[a-z])=(.*)$/s.exec(word) ?? [];
  return option === undefined || value === undefined ? [word] : [option, value];
}
