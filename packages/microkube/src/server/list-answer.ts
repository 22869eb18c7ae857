import { once } from "node:events";
import type { ListPage } from "../registry/index.ts";
import type { Exchange } from "./exchange.ts";
import type { AnswerForm } from "./media-type.ts";
import type { ListMeta, Rendering } from "./rendering.ts";

/** Beyond so many characters a list is sent in pieces, so that it is never whole in memory. */
const PIECE = 256 * 1024;

export async function sendList(
  exchange: Exchange,
  page: ListPage,
  rendering: Rendering,
  form: AnswerForm,
): Promise<void> {
  const meta: ListMeta = {
    resourceVersion: String(page.revision),
    ...(page.continueToken !== undefined && { continue: page.continueToken }),
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
  };
  const [before, after] = rendering.around(meta);
  let text = before;
  let isFirst = true;
  let isStreaming = false;
  for (const stored of page.items) {
    const item = rendering.item(stored);
    text += (isFirst ? "" : ",") + (typeof item === "string" ? item : await item);
    isFirst = false;
    if (text.length < PIECE || form.format !== "json" || exchange.audit?.wantsResponse) continue;
    if (!isStreaming) exchange.response.writeHead(200, exchange.headers("application/json"));
    isStreaming = true;
    if (!(await write(exchange, text))) return;
    text = "";
  }
  if (!isStreaming) await exchange.sendJson(200, text + after, form);
  else {
    exchange.audit?.finish(200);
    exchange.response.end(`${text}${after}\n`);
  }
}

/** Waits for a slow reader; false: it is gone. */
async function write({ response, method }: Exchange, text: string): Promise<boolean> {
  if (response.destroyed) return false;
  if (method === "HEAD" || response.write(text)) return true;
  const gone = new AbortController();
  const { signal } = gone;
  try {
    await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  } finally {
    gone.abort();
  }
  return !response.destroyed;
}
