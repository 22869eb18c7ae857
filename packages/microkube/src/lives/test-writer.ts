import type { Random } from "@fjord/base";
import type { TestProgram } from "./test-program.ts";

export const SPACE = "/api/v1/namespaces/default/configmaps";

/** What one writer knows of one object that it alone writes. */
export interface Known {
  /** Of the last write that was acknowledged; -1: it is not there. */
  version: number;
  /** A write whose outcome nobody knows. */
  pending: number | undefined;
}

/** Creates, changes and deletes objects of its own, counts what it does in them, and knows what was acknowledged. */
export class TestWriter {
  readonly known = new Map<string, Known>();
  acknowledged = 0;
  readonly #program: TestProgram;
  readonly #number: number;
  readonly #random: Random;
  #made = 0;

  constructor(program: TestProgram, number: number, random: Random) {
    this.#program = program;
    this.#number = number;
    this.#random = random;
  }

  /** Writes until the program does not answer. */
  async run(): Promise<void> {
    for (;;) {
      const live = [...this.known].filter(([, { version }]) => version >= 0);
      const dice = this.#random();
      const [name, known] = live[Math.floor(this.#random() * live.length)] ?? [];
      if (name === undefined || known === undefined || (dice < 0.3 && live.length < 30)) {
        if (!(await this.#create(`w${this.#number}-${this.#made++}`))) return;
      } else if (!(await (dice < 0.8 ? this.#change(name, known) : this.#delete(name, known)))) return;
    }
  }

  async #create(name: string): Promise<boolean> {
    const known: Known = { version: -1, pending: 0 };
    this.known.set(name, known);
    const labels = { writer: String(this.#number) };
    return this.#settle(known, 0, 201, "POST", SPACE, { metadata: { name, labels }, data: { v: "0" } });
  }

  async #change(name: string, known: Known): Promise<boolean> {
    const next = known.version + 1;
    known.pending = next;
    const patch = { data: { v: String(next) } };
    return this.#settle(known, next, 200, "PATCH", `${SPACE}/${name}`, patch, "application/merge-patch+json");
  }

  async #delete(name: string, known: Known): Promise<boolean> {
    known.pending = -1;
    return this.#settle(known, -1, 200, "DELETE", `${SPACE}/${name}`);
  }

  async #settle(known: Known, version: number, code: number, ...request: Parameters<TestProgram["send"]>) {
    const answer = await this.#program.send(...request);
    if (answer === undefined) return false;
    if (answer.code !== code) throw new Error(`${request.join(" ")}: ${JSON.stringify(answer)}`);
    known.version = version;
    known.pending = undefined;
    this.acknowledged++;
    return true;
  }
}
