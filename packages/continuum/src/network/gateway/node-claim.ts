import { bindMessage } from "../capture/nflog.ts";
import { NetlinkReader, netlinkMessage, REQUEST_WITH_ACK } from "../netlink-message.ts";
import { NetlinkTalk } from "./netlink-talk.ts";
import type { NodeNetwork } from "./node-network.ts";

/** No rule logs to it, so that nothing ever comes of it. Captures have those from 7450 on. */
const GROUP = 7443;

/** linux/netfilter/nf_tables.h: how often the firewall was changed. Asked only since whoever may ask that may have a group too. */
const GET_GENERATION = 0xa10;

const [NOT_PERMITTED, BUSY] = [1, 16];

/**
 * That this process, and no other, keeps the network of a node: a group of the kernel's log, of which each network has its own. The kernel gives one to whoever asks first, to nobody who
 * could not change that network anyway, whatever else of the node they see, and takes it back when they end, however they do.
 */
export class NodeClaim implements AsyncDisposable {
  readonly #talk: NetlinkTalk<never>;
  /** Why it is over, in words. */
  readonly ended: Promise<string>;

  private constructor(talk: NetlinkTalk<never>) {
    this.#talk = talk;
    this.ended = talk.ended;
  }

  /** Undefined where another process has it; rejects where the kernel gives it to nobody, or not to this one. */
  static async take(network: Pick<NodeNetwork, "talk">): Promise<NodeClaim | undefined> {
    const talk = new NetlinkTalk(network, new NetlinkReader<never>(() => undefined));
    const claim = new NodeClaim(talk);
    talk.tell(
      Buffer.concat([netlinkMessage({ type: GET_GENERATION, flags: REQUEST_WITH_ACK }, []), bindMessage(GROUP)]),
    );
    try {
      const { error: mayNot } = await talk.next();
      if (mayNot !== 0) throw new Error(`the kernel says error ${mayNot} (it takes CAP_NET_ADMIN, and nf_tables)`);
      const { error } = await talk.next();
      if (error === 0) return claim;
      // Of one that is another's the kernel says that it is not permitted.
      if (error !== NOT_PERMITTED && error !== BUSY)
        throw new Error(`the kernel says error ${error} (it takes nfnetlink_log)`);
    } catch (error) {
      await claim[Symbol.asyncDispose]();
      throw error;
    }
    await claim[Symbol.asyncDispose]();
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#talk.close();
    await this.ended;
  }
}
