import { ApiError } from "../client/api-error.ts";
import { normalStatus, type Status } from "../client/status.ts";

/** The exit code in what the server says on the error channel. Throws `ApiError` where the command could not be run. */
export function exitCodeOf(text: string, action: string): number {
  const status = parseStatus(text);
  if (status?.status === "Success") return 0;
  const exitCode = status?.details?.causes?.find((cause) => cause.reason === "ExitCode")?.message;
  if (status?.reason === "NonZeroExitCode" && exitCode !== undefined && /^\d{1,10}$/.test(exitCode)) {
    return Number(exitCode);
  }
  const statusCode = status?.code ?? 500;
  throw status === undefined
    ? new ApiError({ action, statusCode, text })
    : new ApiError({ action, statusCode, status });
}

function parseStatus(text: string): Status | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? normalStatus(parsed) : undefined;
  } catch {
    // Servers of another kind write plain words here; they become the message.
    return undefined;
  }
}
