import assert from "node:assert/strict";
import { test } from "node:test";
import type { CapturedPacket } from "./captured-packet.ts";
import { PcapReader, pcapHeader, pcapRecord } from "./pcap.ts";

const packets: CapturedPacket[] = [
  { at: 1_893_456_000_000_250, direction: "out", bytes: Buffer.from("45000014", "hex"), length: 20 },
  { at: 1_893_456_001_999_999, direction: "in", bytes: Buffer.from("6000", "hex"), length: 2 },
];
const file = Buffer.concat([pcapHeader(), ...packets.map(pcapRecord)]);

test("a file has its times, directions and lengths again when it is read, in whatever pieces", () => {
  for (const size of [1, 5, 24, 1000]) {
    const reader = new PcapReader();
    const read = [];
    for (let at = 0; at < file.length; at += size) read.push(...reader.read(file.subarray(at, at + size)));
    assert.deepEqual(read, packets);
  }
});

test("what is none is refused", () => {
  assert.throws(() => [...new PcapReader().read(Buffer.from("<!doctype html><html></html>"))], {
    code: "CAPTURE_INVALID",
  });
  const huge = Buffer.from(file);
  huge.writeUInt32LE(0xffff_ffff, 24 + 8);
  assert.throws(() => [...new PcapReader().read(huge)], /a packet of 4294967295 bytes/);
});
