/** What a process tells of how it was started. */
export interface StartedProcess {
  readonly argv: readonly string[];
  readonly execArgv: readonly string[];
  readonly execPath: string;
}

/**
 * Settings of V8 for a server that keeps little and lives long: young objects are collected early. They take effect only
 * where a process starts.
 */
export const leanSettings = ["--max-semi-space-size=4"];

/** The command that the process is to become to have them; undefined where it has. */
export function leanArguments({ argv, execArgv, execPath }: StartedProcess): string[] | undefined {
  const missing = leanSettings.filter((flag) => !execArgv.includes(flag));
  if (missing.length === 0 || argv[1] === undefined) return undefined;
  return [execPath, ...execArgv, ...missing, ...argv.slice(1)];
}
