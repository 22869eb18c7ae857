/**
 * Settings of V8 for processes that wait most of their lives, by measurement (docs/decisions/0007): what is made at once
 * stays small, and nothing is compiled for speed. They take effect only where a process starts.
 */
const leanFlags: Readonly<Record<string, readonly string[]>> = {
  run: [
    "--max-semi-space-size=2",
    "--initial-old-space-size=16",
    "--heap-growing-percent=30",
    "--no-opt",
    "--no-maglev",
  ],
  // Its heap grows by the pods, and it has something to compute: the quicker of the two compilers stays.
  simulate: ["--max-semi-space-size=4", "--no-opt"],
};

/** The command that this process is to become to have the settings; undefined where it has them or is better without. */
export function leanCommand({ argv, execArgv, execPath }: Pick<NodeJS.Process, "argv" | "execArgv" | "execPath">) {
  const [, program, name] = argv;
  // Others end soon.
  const flags = leanFlags[name ?? ""];
  if (program === undefined || flags === undefined) return undefined;
  const missing = flags.filter((flag) => !execArgv.includes(flag));
  if (missing.length === 0) return undefined;
  return [execPath, ...execArgv, ...missing, ...argv.slice(1)];
}
