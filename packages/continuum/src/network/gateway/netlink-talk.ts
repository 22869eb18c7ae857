import type { NetlinkError, NetlinkReader } from "../netlink-message.ts";
import { NETLINK_RELAY } from "./netlink-relay.ts";
import type { NodeNetwork } from "./node-network.ts";

/** A talk with netfilter's part of the kernel, in the node's network: what is told, and what the kernel says. It ends with this process, however that ends. */
export class NetlinkTalk<Event> {
  readonly #child: ReturnType<NodeNetwork["talk"]>;
  readonly #events: AsyncGenerator<Event | NetlinkError>;
  /** Why it has ended, in words. */
  readonly ended: Promise<string>;

  constructor(network: Pick<NodeNetwork, "talk">, reader: NetlinkReader<Event>) {
    const child = network.talk(["perl", "-e", NETLINK_RELAY]);
    const words: Buffer[] = [];
    child.stderr.on("data", (chunk: Buffer) => void words.push(chunk));
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve(`there is no perl: ${error.message}`));
      child.once("close", () =>
        resolve(Buffer.concat(words).toString().trim() || "what talks with the kernel has ended"),
      );
    });
    // It may end before it has read what it is told.
    child.stdin.on("error", () => {});
    this.#child = child;
    this.#events = eventsOf(child.stdout, reader);
  }

  tell(messages: Buffer): void {
    this.#child.stdin.write(messages);
  }

  /** The next that the kernel says; rejects where there will be none. */
  async next(): Promise<Event | NetlinkError> {
    // What the process prints ends with it. Whoever waited for that end beside each event would be remembered there until it comes.
    const said = await this.#events.next();
    if (said.done) throw new Error(await this.ended);
    return said.value;
  }

  /** All that it says from now on. */
  events(): AsyncIterable<Event | NetlinkError> {
    return this.#events;
  }

  close(): void {
    this.#child.stdin.destroy();
    this.#child.kill("SIGKILL");
  }
}

async function* eventsOf<Event>(
  output: AsyncIterable<Buffer>,
  reader: NetlinkReader<Event>,
): AsyncGenerator<Event | NetlinkError> {
  for await (const chunk of output) yield* reader.read(chunk);
}
