/** Numbers by which gRPC says how a call has ended. Only those that anyone here asks for. */
export const grpcStatus = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** How a call ended, from its trailers; undefined where they do not say. */
export function statusOf(headers: Readonly<Record<string, unknown>>): { status: number; message: string } | undefined {
  const text = headers["grpc-status"];
  if (text === undefined || !/^\d+$/.test(String(text))) return undefined;
  return { status: Number(text), message: decodeMessage(String(headers["grpc-message"] ?? "")) };
}

/** Bytes outside of printable ASCII travel as %XX. What was not encoded well is shown as it came. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** As the header grpc-timeout has it: at most eight digits and a unit. */
export function timeoutHeader(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole < 1e8 ? `${whole}m` : `${Math.min(Math.ceil(whole / 1000), 99_999_999)}S`;
}
