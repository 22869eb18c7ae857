import type { Kind, KubeObject } from "@fjord/base";
import { isGone } from "./api-error.ts";
import { EndlessList } from "./errors.ts";
import type { ListOptions, ObjectList, Reader } from "./interfaces.ts";

/** Objects per page where the caller names no number: what kubectl and client-go ask for. */
const PAGE_SIZE = 500;
/** Each is remembered, and no server's is nearly as long, nor are there so many. */
export const LONGEST_TOKEN = 4_096;
export const MOST_PAGES = 20_000;
/** A server looks on until a page is full, so that even one that is empty is rare. */
const MAX_EMPTY_PAGES = 100;

/**
 * The pages of a list, one after another. All show one moment, unless reading takes so long that the server forgets it:
 * then the rest is read from a newer one. Each object comes at most once either way. Throws `EndlessList` where the
 * pages go in circles.
 */
export async function* listPages<T extends KubeObject>(
  reader: Pick<Reader, "list">,
  kind: Kind<T>,
  options: ListOptions,
): AsyncGenerator<ObjectList<T>, void, void> {
  let request: ListOptions = { ...options, limit: options.limit ?? PAGE_SIZE };
  const seen = new Set<string>();
  let empty = 0;
  const goOn = (token: string, gotItems: boolean) => {
    empty = gotItems ? 0 : empty + 1;
    if (token.length > LONGEST_TOKEN) throw new EndlessList({ kind: kind.kind, reason: "a page's token is too long" });
    if (seen.size >= MOST_PAGES)
      throw new EndlessList({ kind: kind.kind, reason: `there are over ${MOST_PAGES} pages` });
    if (seen.has(token)) throw new EndlessList({ kind: kind.kind, reason: "a page leads back to an earlier one" });
    if (empty > MAX_EMPTY_PAGES) {
      throw new EndlessList({ kind: kind.kind, reason: `${empty} pages in a row were empty` });
    }
    seen.add(token);
    return token;
  };
  for (;;) {
    let page: ObjectList<T>;
    try {
      page = await reader.list(kind, request);
    } catch (error) {
      const next = isGone(error) ? error.status?.metadata?.continue : undefined;
      if (next === undefined || next === request.continue) throw error;
      request = { ...request, continue: goOn(next, false) };
      continue;
    }
    yield page;
    if (!page.metadata.continue) return;
    // The token says which revision it belongs to; a server refuses both.
    const { resourceVersion: _, resourceVersionMatch: __, ...rest } = request;
    request = { ...rest, continue: goOn(page.metadata.continue, page.items.length > 0) };
  }
}
