import type { ApiPath } from "./api-path.ts";
import { matches, type RequestMatch } from "./fault.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "other";

/** One request as it came in. */
export interface RequestRecord {
  /** Milliseconds by the server's clock. */
  readonly at: number;
  readonly verb: Verb;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Every request since the start, so that a test can say that there was no storm. */
export class RequestLog implements Iterable<RequestRecord> {
  readonly #records: RequestRecord[] = [];

  add(record: RequestRecord): void {
    this.#records.push(record);
  }

  matching(on: RequestMatch = {}): RequestRecord[] {
    return this.#records.filter((record) => matches(record, on));
  }

  count(on: RequestMatch = {}): number {
    return this.matching(on).length;
  }

  clear(): void {
    this.#records.length = 0;
  }

  [Symbol.iterator](): Iterator<RequestRecord> {
    return this.#records[Symbol.iterator]();
  }
}

/** What came in, in the words of the Kubernetes API. */
export function recordOf(method: string, url: URL, path: ApiPath | undefined, at: number): RequestRecord {
  return { at, method, path: url.pathname, query: url.searchParams, ...path, verb: verbOf(method, url, path) };
}

function verbOf(method: string, url: URL, path: ApiPath | undefined): Verb {
  if (path === undefined || path.subresource !== undefined) return "other";
  if (method === "POST") return "create";
  if (method === "PUT") return "update";
  if (method === "PATCH") return "patch";
  if (method === "DELETE") return "delete";
  if (path.name !== undefined) return "get";
  return url.searchParams.get("watch") === "true" || url.searchParams.get("watch") === "1" ? "watch" : "list";
}
