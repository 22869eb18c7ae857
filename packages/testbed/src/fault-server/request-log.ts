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
