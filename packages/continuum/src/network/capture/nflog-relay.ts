import { once } from "node:events";
import { createInterface } from "node:readline";
import { NETLINK_RELAY } from "../gateway/netlink-relay.ts";
import type { NodeNetwork } from "../gateway/node-network.ts";
import type { CapturedPacket } from "./captured-packet.ts";
import { CaptureImpossible } from "./errors.ts";
import { bindMessages, CONFIRMATIONS, type NflogEvent, nflogReader } from "./nflog.ts";

/** Errors of the kernel that have a meaning here. */
const MEANINGS: Readonly<Record<number, string>> = {
  1: "the kernel does not let this process listen (it needs CAP_NET_ADMIN)",
  16: "another program listens to the same group of the kernel's log",
  22: "the kernel has no nfnetlink_log",
};

/** Packets that rules log to a group, from the moment on in which this resolves, and how many were lost before each. */
export class NflogRelay {
  readonly #child: ReturnType<NodeNetwork["talk"]>;
  readonly #events: AsyncGenerator<NflogEvent>;
  #last: number | undefined;
  #lost = 0;

  private constructor(child: ReturnType<NodeNetwork["talk"]>) {
    this.#child = child;
    this.#events = events(child.stdout);
  }

  static async open(network: Pick<NodeNetwork, "talk">, group: number): Promise<NflogRelay> {
    const child = network.talk(["perl", "-e", NETLINK_RELAY]);
    const words: string[] = [];
    createInterface({ input: child.stderr }).on("line", (line) => void words.push(line));
    const failed = once(child, "error").then(([cause]) => {
      throw new CaptureImpossible({ reason: `there is no perl: ${(cause as Error).message}` }, { cause });
    });
    // It may end before it has read what it is told.
    child.stdin.on("error", () => {});
    child.stdin.write(bindMessages(group));
    const relay = new NflogRelay(child);
    try {
      await Promise.race([relay.#confirmed(words), failed]);
    } catch (error) {
      relay.close();
      throw error;
    }
    failed.catch(() => {});
    return relay;
  }

  async #confirmed(words: readonly string[]): Promise<void> {
    for (let count = 0; count < CONFIRMATIONS; count++) {
      const { value, done } = await this.#events.next();
      if (done) {
        if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "close");
        throw new CaptureImpossible({ reason: words.join(" ") || "what listens to the kernel's log has ended" });
      }
      if (!("error" in value) || value.error === 0) continue;
      throw new CaptureImpossible({ reason: MEANINGS[value.error] ?? `the kernel says error ${value.error}` });
    }
  }

  /** How many the kernel has not been able to pass on. */
  get lost(): number {
    return this.#lost;
  }

  async *packets(): AsyncGenerator<CapturedPacket> {
    for await (const event of this.#events) {
      if (!("packet" in event)) continue;
      const { packet, number } = event;
      if (number !== undefined && this.#last !== undefined) this.#lost += (number - this.#last - 1) >>> 0;
      this.#last = number;
      yield { ...packet, at: Math.round((performance.timeOrigin + performance.now()) * 1000) };
    }
  }

  close(): void {
    this.#child.stdin.destroy();
    this.#child.kill("SIGKILL");
  }
}

async function* events(output: AsyncIterable<Buffer>): AsyncGenerator<NflogEvent> {
  const reader = nflogReader();
  for await (const chunk of output) yield* reader.read(chunk);
}
