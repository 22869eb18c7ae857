import type { Http2Session } from "node:http2";

export interface PingTimes {
  /** @default 30_000 */
  readonly everyMs?: number;
  /** @default 15_000 */
  readonly answerMs?: number;
}

/**
 * Ends a session whose other side has fallen silent. TCP alone may take a quarter of an hour to notice once something was sent, and
 * a watch that begins again would begin on the same connection. One over which no ping can be sent is ended too: both sides have said
 * that they leave it, and what is still answered over it begins again on another.
 */
export function endWhenSilent(
  session: Http2Session,
  { everyMs = 30_000, answerMs = 15_000 }: PingTimes,
  end = (why: Error) => session.destroy(why),
): void {
  let late: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (late !== undefined || session.destroyed) return;
    late = setTimeout(() => end(silent(answerMs)), answerMs);
    session.ping((unsent) => {
      if (unsent !== null) return;
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
