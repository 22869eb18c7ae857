/** Options of `fjord kubectl` itself, by their names on the command line. */
const OWN = new Map([
  ["--context", "context"],
  ["--kubeconfig", "kubeconfig"],
  ["--agent-namespace", "agentNamespace"],
]);

export interface OwnOptions {
  readonly own: Readonly<Record<string, string>>;
  /** What is kubectl's. */
  readonly rest: readonly string[];
}

/**
 * Takes the own options that stand right behind the site, where they are typed as often as before it: `fjord kubectl wave --context home
 * get pods`. From the first other word on, and from `--` on, all is kubectl's.
 */
export function ownOptions(words: readonly string[]): OwnOptions {
  const own: Record<string, string> = {};
  let at = 0;
  for (;;) {
    const [option = "", value] = (words[at] ?? "").split(/=(.*)/s);
    const name = OWN.get(option);
    const given = value ?? words[at + 1];
    if (name === undefined || given === undefined) break;
    own[name] = given;
    at += value === undefined ? 2 : 1;
  }
  return { own, rest: words.slice(words[at] === "--" ? at + 1 : at) };
}
