import { describeError } from "@fjord/base";
import type { Status } from "@fjord/kube";

/** How a command went: its exit code, or why it could not be run. */
export type CommandOutcome = { readonly exitCode: number } | { readonly error: unknown };

/** What a client is told on the error stream, from the fourth version of the protocol on. */
export function commandStatus(outcome: CommandOutcome): Status {
  if ("error" in outcome) {
    const message = plain(describeError(outcome.error));
    return { metadata: {}, status: "Failure", message, reason: "InternalError", code: 500 };
  }
  const { exitCode } = outcome;
  if (exitCode === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}

/** Container runtimes say so in each of their layers, and API servers once more. */
function plain(message: string): string {
  return message.replaceAll("Internal error occurred: ", "");
}

/** The bytes of that; the older versions know only a text, and nothing where all went well. */
export function encodeStatus(outcome: CommandOutcome, protocol: string): string {
  const status = commandStatus(outcome);
  if (/^v[45]\./.test(protocol)) return JSON.stringify(status);
  return status.status === "Success" ? "" : (status.message ?? "");
}
