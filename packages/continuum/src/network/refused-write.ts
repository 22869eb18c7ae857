import { ApiError, isInvalid } from "@fjord/kube";

/** Whether the API takes no such object, however often it is sent: it breaks a rule, or is too large for the server or its store. */
export function isRefusedWrite(thrown: unknown): boolean {
  if (!(thrown instanceof ApiError)) return false;
  const { statusCode, message } = thrown;
  return isInvalid(thrown) || statusCode === 400 || statusCode === 413 || /request is too large/i.test(message);
}
