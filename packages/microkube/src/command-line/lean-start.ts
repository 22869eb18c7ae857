/** What a process tells of how it was started. */
export interface StartedProcess {
  readonly argv: readonly string[];
  readonly execArgv: readonly string[];
  readonly execPath: string;
}

/**
 * Settings of V8 for a server that keeps little and lives long (docs/decisions/0012): young objects are collected early,
 * and the middle one of three compilers, whose memory stays when it is done, is left out. They take effect only where a
 * process starts.
 */
export const leanSettings = ["--max-semi-space-size=4", "--no-maglev"];

/** The C library would keep what each thread has freed for that thread. */
export const leanEnvironment = { MALLOC_ARENA_MAX: "1" };

/** The command that the process is to become to have them; undefined where it has. */
export function leanArguments({ argv, execArgv, execPath }: StartedProcess): string[] | undefined {
  const missing = leanSettings.filter((flag) => !execArgv.includes(flag));
  if (missing.length === 0 || argv[1] === undefined) return undefined;
  return [execPath, ...execArgv, ...missing, ...argv.slice(1)];
}
