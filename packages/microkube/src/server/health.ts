/** A thing that may be wrong with the server; undefined: nothing is. */
export type HealthCheck = () => string | undefined;

/** Answers `/healthz`, `/livez` and `/readyz`, with one path per check below each. */
export class Health {
  readonly #checks: ReadonlyMap<string, HealthCheck>;

  constructor(checks: Readonly<Record<string, HealthCheck>>) {
    this.#checks = new Map(Object.entries(checks));
  }

  /** undefined: there is no such path. */
  answer(path: string, query: URLSearchParams): { code: number; text: string } | undefined {
    const [, root = "", name, ...more] = path.split("/");
    if (!["healthz", "livez", "readyz"].includes(root) || more.length > 0) return undefined;
    if (name !== undefined && name !== "") {
      const check = this.#checks.get(name);
      if (check === undefined) return undefined;
      const problem = check();
      return problem === undefined
        ? { code: 200, text: "ok" }
        : { code: 500, text: `internal server error: ${problem}\n` };
    }
    const excluded = new Set(query.getAll("exclude"));
    const lines: string[] = [];
    let isWell = true;
    for (const [check, run] of this.#checks) {
      const problem = excluded.has(check) ? undefined : run();
      if (problem !== undefined) isWell = false;
      const ok = excluded.has(check) ? "excluded: ok" : "ok";
      lines.push(problem === undefined ? `[+]${check} ${ok}` : `[-]${check} failed: reason withheld`);
    }
    if (isWell && !query.has("verbose")) return { code: 200, text: "ok" };
    const end = `${root} check ${isWell ? "passed" : "failed"}`;
    return { code: isWell ? 200 : 500, text: `${lines.join("\n")}\n${end}\n` };
  }
}
