import { type FlowEvent, type FlowSort, flowReader, listMessage, type TrackedFlow } from "../fabric/tracked-flows.ts";
import { NetlinkTalk } from "./netlink-talk.ts";
import type { NodeNetwork } from "./node-network.ts";

/** As many as are said to the kernel at once. */
const AT_ONCE = 100;
/** The kernel has forgotten it by itself. */
const NOT_FOUND = 2;

/** Has the kernel forget those flows of a sort that are meant: what comes of them next is a new one. Resolves with how many. */
export async function forgetFlows(
  network: Pick<NodeNetwork, "talk">,
  sort: FlowSort,
  isMeant: (flow: TrackedFlow) => boolean,
): Promise<number> {
  const talk = new NetlinkTalk(network, flowReader());
  try {
    const meant = await listed(talk, sort, isMeant);
    await tell(talk, meant);
    return meant.length;
  } finally {
    talk.close();
  }
}

/** What makes the kernel forget each that is meant. */
async function listed(
  talk: NetlinkTalk<FlowEvent>,
  sort: FlowSort,
  isMeant: (flow: TrackedFlow) => boolean,
): Promise<Buffer[]> {
  const meant: Buffer[] = [];
  for (const family of [4, 6] as const) {
    talk.tell(listMessage(family, sort));
    for (let event = await talk.next(); !("isLast" in event); event = await talk.next()) {
      if ("error" in event) throw new Error(`the kernel says error ${event.error}`);
      if (isMeant(event.flow)) meant.push(event.flow.forget);
    }
  }
  return meant;
}

async function tell(talk: NetlinkTalk<FlowEvent>, messages: readonly Buffer[]): Promise<void> {
  for (let at = 0; at < messages.length; at += AT_ONCE) {
    const some = messages.slice(at, at + AT_ONCE);
    talk.tell(Buffer.concat(some));
    for (const _ of some) {
      const event = await talk.next();
      if ("error" in event && event.error !== 0 && event.error !== NOT_FOUND)
        throw new Error(`the kernel says error ${event.error}`);
    }
  }
}
