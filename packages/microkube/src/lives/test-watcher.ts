import assert from "node:assert/strict";
import type { TestProgram } from "./test-program.ts";
import { SPACE } from "./test-writer.ts";

interface Seen {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: { readonly v: string };
}

/** Watches from where it was, however often it is cut off, and takes nothing twice and nothing that leaves a gap. */
export class TestWatcher {
  readonly versions = new Map<string, number>();
  events = 0;
  resumed = 0;
  #revision: number;
  readonly #program: TestProgram;
  readonly #query: string;

  constructor(program: TestProgram, revision: number, query = "") {
    this.#program = program;
    this.#revision = revision;
    this.#query = query;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Until the program does not answer. */
  async run(): Promise<void> {
    this.resumed++;
    const path = `${SPACE}?watch=true&resourceVersion=${this.#revision}&timeoutSeconds=600${this.#query}`;
    for await (const { type, object } of this.#program.watch(path)) {
      const { metadata, data } = object as unknown as Seen;
      assert.notEqual(type, "ERROR", `a watch from ${this.#revision}: ${JSON.stringify(object)}`);
      const revision = Number(metadata.resourceVersion);
      if (type !== "BOOKMARK") {
        assert(revision > this.#revision, `${metadata.name} at ${revision} comes after ${this.#revision}`);
        this.#take(type, metadata.name, Number(data?.v));
      }
      this.#revision = Math.max(this.#revision, revision);
    }
  }

  /** Writers count: each number of an object comes once, after the one before. */
  #take(type: string, name: string, version: number): void {
    if (!name.startsWith("w")) return;
    this.events++;
    const before = this.versions.get(name);
    if (type === "ADDED") assert.deepEqual([before, version], [undefined, 0], `${name} is added`);
    else if (type === "MODIFIED") assert.equal(version, (before ?? Number.NaN) + 1, `${name} changes from ${before}`);
    else assert.equal(version, before, `${name} is deleted`);
    if (type === "DELETED") this.versions.delete(name);
    else this.versions.set(name, version);
  }
}
