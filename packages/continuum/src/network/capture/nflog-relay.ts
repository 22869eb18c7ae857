import { NetlinkTalk } from "../gateway/netlink-talk.ts";
import type { NodeNetwork } from "../gateway/node-network.ts";
import type { CapturedPacket } from "./captured-packet.ts";
import { CaptureImpossible } from "./errors.ts";
import { bindMessages, CONFIRMATIONS, type NflogEvent, nflogReader } from "./nflog.ts";

/** Errors of the kernel that have a meaning here. */
const MEANINGS: Readonly<Record<number, string>> = {
  1: "the kernel does not let this process listen: it needs CAP_NET_ADMIN, or another program listens to the same group of the kernel's log",
  22: "the kernel has no nfnetlink_log",
};

/** Packets that rules log to a group, from the moment on in which this resolves, and how many were lost before each. */
export class NflogRelay {
  readonly #talk: NetlinkTalk<NflogEvent>;
  #last: number | undefined;
  #lost = 0;

  private constructor(talk: NetlinkTalk<NflogEvent>) {
    this.#talk = talk;
  }

  static async open(network: Pick<NodeNetwork, "talk">, group: number): Promise<NflogRelay> {
    const talk = new NetlinkTalk(network, nflogReader());
    talk.tell(bindMessages(group));
    try {
      await confirmed(talk);
    } catch (error) {
      talk.close();
      throw error;
    }
    return new NflogRelay(talk);
  }

  /** How many the kernel has not been able to pass on. */
  get lost(): number {
    return this.#lost;
  }

  async *packets(): AsyncGenerator<CapturedPacket> {
    for await (const event of this.#talk.events()) {
      if (!("packet" in event)) continue;
      const { packet, number } = event;
      if (number !== undefined && this.#last !== undefined) this.#lost += (number - this.#last - 1) >>> 0;
      this.#last = number;
      yield { ...packet, at: Math.round((performance.timeOrigin + performance.now()) * 1000) };
    }
  }

  close(): void {
    this.#talk.close();
  }
}

async function confirmed(talk: NetlinkTalk<NflogEvent>): Promise<void> {
  for (let count = 0; count < CONFIRMATIONS; count++) {
    const event = await talk.next().catch((cause: Error) => {
      throw new CaptureImpossible({ reason: cause.message }, { cause });
    });
    if (!("error" in event) || event.error === 0) continue;
    throw new CaptureImpossible({ reason: MEANINGS[event.error] ?? `the kernel says error ${event.error}` });
  }
}
