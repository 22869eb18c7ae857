import assert from "node:assert/strict";
import { it } from "node:test";
import { deniedPackets, withDenied } from "./denied-packets.ts";

it("packets that were dropped are counted on when the counters begin anew", () => {
  const listed = (arrived: number, left: number) => {
    const counter = (name: string, packets: number) => ({ counter: { family: "inet", name, packets, bytes: 9 } });
    const nftables = [{ metainfo: {} }, counter("denied-in", arrived), counter("denied-out", left)];
    return deniedPackets(JSON.stringify({ nftables }));
  };
  assert.deepEqual(listed(5, 2), { in: 5, out: 2 });
  assert.deepEqual(withDenied({ in: 10, out: 20 }, listed(5, 2), listed(8, 2)), { in: 13, out: 20 });
  assert.deepEqual(withDenied({ in: 10, out: 20 }, listed(5, 2), listed(1, 3)), { in: 11, out: 21 });
});
