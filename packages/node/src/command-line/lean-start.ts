/**
 * Settings of V8 for a process that waits most of its life, by measurement (docs/decisions/0007): what is made at once
 * stays small, and nothing is compiled for speed. They take effect only where a process starts.
 */
const leanFlags = [
  "--max-semi-space-size=2",
  "--initial-old-space-size=16",
  "--heap-growing-percent=30",
  "--no-opt",
  "--no-maglev",
];

/** The command that this process is to become to have the settings; undefined where it has them or is better without. */
export function leanCommand({ argv, execArgv, execPath }: Pick<NodeJS.Process, "argv" | "execArgv" | "execPath">) {
  const [, program, name] = argv;
  // Others end soon, or have much to compute.
  if (program === undefined || name !== "run") return undefined;
  const missing = leanFlags.filter((flag) => !execArgv.includes(flag));
  if (missing.length === 0) return undefined;
  return [execPath, ...execArgv, ...missing, ...argv.slice(1)];
}
