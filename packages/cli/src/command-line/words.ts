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

/** Takes `-q` wherever it stands, `-h sites` for `sites -h`, and kubectl's `-o=json` for `-o json`. */
export function readWords(typed: readonly string[]): Words {
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

function kubectlWay(word: string): string[] {
  const [, option, value] = /^(-[a-z])=(.*)$/s.exec(word) ?? [];
  return option === undefined || value === undefined ? [word] : [option, value];
}
