interface Status {
  readonly status?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[] };
}

export type CommandResult = { readonly exitCode: number } | { readonly failure: string };

/** What the error stream of protocol v4 says at the end of a command: a Status, in JSON. Nothing is a success too. */
export function commandResult(text: string): CommandResult {
  if (text.trim() === "") return { exitCode: 0 };
  const status = parse(text);
  if (status === undefined) return { failure: text.trim() };
  if (status.status === "Success") return { exitCode: 0 };
  const cause = status.details?.causes?.find?.(({ reason }) => reason === "ExitCode");
  const exitCode = Number.parseInt(String(cause?.message), 10);
  if (status.reason === "NonZeroExitCode" && !Number.isNaN(exitCode)) return { exitCode };
  return { failure: typeof status.message === "string" ? status.message : text.trim() };
}

function parse(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
