import { defineError } from "@fjord/base";

export const AgentCannotListen = defineError(
  "AGENT_CANNOT_LISTEN",
  "the agent cannot listen on {address}:{port}: {reason}",
  "Stop what listens there, or choose another address: --listen, --admission-port, --metrics-listen (of `fjord micro`: --address, --peer-port, --admission-port, --metrics-port).",
);

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program does",
  EADDRNOTAVAIL: "this machine does not have that address",
  EACCES: "this user may not; ports below 1024 are for root",
};

/** What is to be told of an error: one of the system about a port is explained, any other stays what it is. */
export function explainedError(error: unknown): unknown {
  if (!(error instanceof Error) || !("syscall" in error) || error.syscall !== "listen") return error;
  const {
    address = "this machine",
    port = "?",
    code = "",
  } = error as { address?: string; port?: number; code?: string };
  return new AgentCannotListen({ address, port, reason: REASONS[code] ?? error.message }, { cause: error });
}
