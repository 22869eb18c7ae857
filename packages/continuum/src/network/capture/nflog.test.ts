import assert from "node:assert/strict";
import { test } from "node:test";
import { bindMessages, nflogReader } from "./nflog.ts";

/** As a kernel has said it: what a socket on loopback sent, on its way out and on its way in, cut to 64 bytes of 128. */
const SAID = Buffer.from(
  "8800000000040000000000000000000002001d1a080001000800040005000a0000000000080005000000000108000b000000000008000e000000000008000c0000000000" +
    "44000900450000805f8040004011dcea7f0000017f000001d42f270f006cfe7f686868686868686868686868686868686868686868686868686868686868686868686868" +
    "c000000000040000000000000000000002001d1a080001000800000005000a000000000008000400000000011000080000060000000000000000000006000f0003040000" +
    "06001100000e0000120010000000000000000000000000000800000014000300000000006afbeebd0000000000070ce708000c0000000003440009004500008" +
    "05f8040004011dcea7f0000017f000001d42f270f006cfe7f686868686868686868686868686868686868686868686868686868686868686868686868",
  "hex",
);
const CONFIRMED = Buffer.from("2400000002000001000000000d060000000000001c000000010405000000000000000000", "hex");

test("the kernel is told to send whole packets of a group, with numbers", () => {
  const messages = bindMessages(7450);
  assert.equal(messages.length, 28 + 32 + 28);
  assert.equal(
    messages.subarray(0, 28).toString("hex"),
    "1c0000000104050000000000000000000000" + "1d1a" + "0500010001000000",
  );
});

test("what it says is read, in whatever pieces it comes", () => {
  for (const size of [1, 7, 64, 1000]) {
    const reader = nflogReader();
    const all = Buffer.concat([CONFIRMED, SAID]);
    const events = [];
    for (let at = 0; at < all.length; at += size) events.push(...reader.read(all.subarray(at, at + size)));
    assert.deepEqual(events[0], { error: 0 });
    assert.deepEqual(
      events
        .slice(1)
        .map(
          (event) =>
            "packet" in event && [event.packet.direction, event.packet.bytes.length, event.packet.length, event.number],
        ),
      [
        ["out", 64, 128, 0],
        ["in", 64, 128, 3],
      ],
    );
  }
});

test("an error is told by its number, and a message that cannot be is not waited for", () => {
  const busy = Buffer.from(CONFIRMED);
  busy.writeInt32LE(-16, 16);
  assert.deepEqual([...nflogReader().read(busy)], [{ error: 16 }]);
  assert.throws(() => [...nflogReader().read(Buffer.alloc(32))], /said to have 0 bytes/);
});
