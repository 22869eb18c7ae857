import { spawn } from "node:child_process";
import { NftablesRefused } from "./errors.ts";
import { type Rules, type RulesContext, serviceRules, TABLE, transaction } from "./nftables-rules.ts";
import type { ServicePort } from "./service-plan.ts";

/** Runs `nft -f -` with a text; tests put it into a network namespace of their own. */
export type Nft = (text: string) => Promise<void>;

/** Serves Services in the kernel. The rules stay when the process ends, and are replaced by the next one's. */
export class NftablesProxy {
  readonly #context: RulesContext;
  readonly #nft: Nft;
  readonly #applied = new Map<"ip" | "ip6", Rules>();
  readonly #texts = new Map<"ip" | "ip6", string>();

  constructor(context: RulesContext, nft: Nft = runNft) {
    this.#context = context;
    this.#nft = nft;
  }

  async apply(plan: readonly ServicePort[]): Promise<void> {
    for (const family of ["ip", "ip6"] as const) {
      const next = serviceRules(plan, family, this.#context);
      const whole = transaction(undefined, next, family);
      if (this.#texts.get(family) === whole) continue;
      try {
        await this.#nft(transaction(this.#applied.get(family), next, family));
      } catch {
        // Somebody else has changed the table: begin anew.
        await this.#nft(whole);
      }
      this.#applied.set(family, next);
      this.#texts.set(family, whole);
    }
  }

  /** Takes the tables away. */
  async remove(): Promise<void> {
    for (const family of ["ip", "ip6"])
      await this.#nft(`add table ${family} ${TABLE}\ndelete table ${family} ${TABLE}\n`);
    this.#applied.clear();
    this.#texts.clear();
  }
}

export function runNft(text: string, command: readonly string[] = ["nft"]): Promise<void> {
  const [program = "nft", ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args, "-f", "-"], { stdio: ["pipe", "ignore", "pipe"] });
    let complaint = "";
    child.stderr.on("data", (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    child.on("error", (cause) => reject(new NftablesRefused({ reason: cause.message }, { cause })));
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new NftablesRefused({ reason: complaint.trim().split("\n").slice(0, 3).join(" ") }));
    });
    child.stdin.on("error", () => {});
    child.stdin.end(text);
  });
}
