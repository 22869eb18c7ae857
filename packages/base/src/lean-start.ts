/** What a process tells of how it was started. */
export interface StartedProcess {
  readonly argv: readonly string[];
  readonly execArgv: readonly string[];
  readonly execPath: string;
}

/**
 * The command that a process is to become to have the settings of V8 that its first argument asks for; undefined where it
 * has them or is better without. They take effect only where a process starts.
 */
export function leanCommand(
  { argv, execArgv, execPath }: StartedProcess,
  settings: Readonly<Record<string, readonly string[]>>,
): string[] | undefined {
  const [, program, name] = argv;
  const flags = Object.hasOwn(settings, name ?? "") ? settings[name ?? ""] : undefined;
  // Others end soon.
  if (program === undefined || flags === undefined) return undefined;
  const missing = flags.filter((flag) => !execArgv.includes(flag));
  if (missing.length === 0) return undefined;
  return [execPath, ...execArgv, ...missing, ...argv.slice(1)];
}
