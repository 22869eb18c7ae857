import { setImmediate } from "node:timers/promises";
import { redactPieces } from "./redact-text.ts";

/** What `redactText` does, for long texts: others get their turn in between, as whoever interrupts it. */
export async function redactLog(text: string, signal: AbortSignal): Promise<string> {
  const safe: string[] = [];
  for (const piece of redactPieces(text)) {
    safe.push(piece);
    await setImmediate();
    signal.throwIfAborted();
  }
  return safe.join("\n");
}
