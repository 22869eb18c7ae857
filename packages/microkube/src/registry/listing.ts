import type { ResourceType } from "../kinds/resource-type.ts";
import { badRequest, expired, invalid, StatusError } from "../status-error.ts";
import { Compacted, NotYet, type Store, type StoredObject, type StoreRange } from "../store/store.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import { keyFor, prefixFor } from "./operation.ts";
import type { Selection } from "./selection.ts";

export interface ListQuery {
  readonly type: ResourceType;
  /** Empty: all of them. */
  readonly namespace: string;
  readonly selection: Selection;
  readonly limit?: number;
  readonly continueToken?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
}

export interface ListPage {
  readonly items: readonly StoredObject[];
  readonly revision: number;
  readonly continueToken?: string;
  readonly remaining?: number;
}

const inconsistent =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

export async function listObjects(store: Store, query: ListQuery): Promise<ListPage> {
  const { type, namespace, selection, limit = 0 } = query;
  const wanted = selection.namespace !== undefined && namespace === "" ? selection.namespace : namespace;
  const prefix = prefixFor(type, type.namespaced ? wanted : "");
  const at = startOf(store, query, prefix);
  if (selection.name !== undefined && (wanted !== "" || !type.namespaced) && at.revision === undefined) {
    const one = store.get(keyFor(type, wanted, selection.name));
    const { revision } = store;
    return { items: one === undefined ? [] : await chosen([one], selection), revision };
  }
  try {
    const { page, items } = await collect(store, prefix, at, selection, limit);
    const { revision, next, remaining } = page;
    if (next === undefined) return { items, revision };
    const continueToken = encodeContinue({ revision, after: next }, prefix);
    return { items, revision, continueToken, ...(selection.isEverything && { remaining: remaining ?? 0 }) };
  } catch (error) {
    throw interpret(error, query, prefix, at.after);
  }
}

async function collect(
  store: Store,
  prefix: string,
  at: { revision?: number; after?: string },
  selection: Selection,
  limit: number,
): Promise<{ page: StoreRange; items: readonly StoredObject[] }> {
  if (selection.isEverything) {
    const page = store.list(prefix, { ...at, ...(limit > 0 && { limit }) });
    return { page, items: page.items };
  }
  const all = store.list(prefix, at);
  const matching = await chosen(all.items, selection);
  const last = limit === 0 ? undefined : matching[limit - 1];
  if (last === undefined || last === all.items.at(-1)) return { page: { ...all, items: matching }, items: matching };
  const items = matching.slice(0, limit);
  return { page: { items, revision: all.revision, next: last.key }, items };
}

async function chosen(objects: readonly StoredObject[], { matches, among }: Selection): Promise<StoredObject[]> {
  const these = await among?.(objects);
  return objects.filter((one) => (these === undefined ? matches(one) : these.has(one)));
}

/** From where, and as of when. */
function startOf(store: Store, query: ListQuery, prefix: string): { revision?: number; after?: string } {
  const { continueToken = "", resourceVersion = "", resourceVersionMatch = "", limit = 0 } = query;
  if (continueToken !== "") {
    if (resourceVersion !== "" && resourceVersion !== "0") {
      throw badRequest("specifying resource version is not allowed when using continue");
    }
    const { revision, after } = decodeContinue(continueToken, prefix);
    return revision < 0 ? { after } : { revision, after };
  }
  if (resourceVersion === "" || resourceVersion === "0") return {};
  const revision = parseRevision(resourceVersion);
  if (revision > store.revision) throw tooLarge(revision, store.revision);
  if (resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && limit > 0)) return { revision };
  return {};
}

/** A resource version of a request; throws for what is none. */
export function parseRevision(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  const detail = `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`;
  throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", [
    { type: "FieldValueInvalid", field: "resourceVersion", value: text, detail },
  ]);
}

function interpret(error: unknown, { continueToken = "" }: ListQuery, prefix: string, after = ""): unknown {
  if (error instanceof NotYet) return tooLarge(error.revision, error.current);
  if (!(error instanceof Compacted)) return error;
  if (continueToken === "") return expired("The resourceVersion for the provided list is too old.");
  return new StatusError(410, "Expired", inconsistent, undefined, {
    continue: encodeContinue({ revision: -1, after }, prefix),
  });
}

export function tooLarge(revision: number, current: number): StatusError {
  const message = `Timeout: Too large resource version: ${revision}, current: ${current}`;
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  return new StatusError(504, "Timeout", message, { causes, retryAfterSeconds: 1 });
}
