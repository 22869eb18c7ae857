import type { ClientHttp2Session } from "node:http2";

export interface PingTimes {
  /** @default 30_000 */
  readonly everyMs?: number;
  /** @default 15_000 */
  readonly answerMs?: number;
}

/**
 * Ends a session whose other side has fallen silent. TCP alone may take a quarter of an hour to notice once something was sent, and
 * a watch that begins again would begin on the same connection.
 */
export function endWhenSilent(session: ClientHttp2Session, { everyMs = 30_000, answerMs = 15_000 }: PingTimes): void {
  let late: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (late !== undefined || session.destroyed) return;
    late = setTimeout(() => session.destroy(silent(answerMs)), answerMs);
    session.ping(() => {
      clearTimeout(late);
      late = undefined;
    });
  }, everyMs);
  session.once("close", () => {
    clearInterval(timer);
    clearTimeout(late);
  });
}

function silent(ms: number): Error {
  return Object.assign(new Error(`the other side has not answered a ping within ${ms / 1000} s`), {
    code: "ETIMEDOUT",
  });
}
