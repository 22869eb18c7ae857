import assert from "node:assert/strict";
import { it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { flowMark } from "../fabric/flow-bound.ts";
import { testState } from "../fabric/test-state.ts";
import { Gateway } from "./gateway.ts";
import type { NodeNetwork } from "./node-network.ts";

it("A gateway tells peers apart by a key that nobody knows, and not by the first that it was given and has refused", async () => {
  const asked: string[] = [];
  const nft = async (text: string) => {
    asked.push(text);
    throw new Error("no nft here");
  };
  const nothing = async () => undefined;
  const network = { nft, nftShown: nft, nftTable: nothing, nftTerse: nothing } as Partial<NodeNetwork> as NodeNetwork;
  const gateway = new Gateway({ network, wireguard: "userspace", clock: new ManualClock(), logger: silentLogger });
  await assert.rejects(gateway.apply(testState(1), "none"), /the private key is not one of WireGuard/);
  const key = Buffer.alloc(32, 1).toString("base64");
  await assert.rejects(gateway.apply(testState(1), key), /no nft here/);
  const marked = (secret: string) => asked.some((text) => text.includes(String(flowMark("peer0", secret))));
  assert.deepEqual([marked("none"), marked(key)], [false, true]);
});
