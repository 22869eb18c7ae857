import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DatagramReader, datagramHeader, isWireguard, SIGN_OF_LIFE } from "./datagrams.ts";

describe("packets in a connection", () => {
  it("come out as they went in, however they are cut, and signs of life do not", () => {
    const packets = fc.array(fc.uint8Array({ minLength: 1, maxLength: 3_000 }), { maxLength: 20 });
    fc.assert(
      fc.property(packets, fc.integer({ min: 1, max: 5_000 }), (sent, size) => {
        const bytes = Buffer.concat(sent.flatMap((each) => [datagramHeader(each.length), each, SIGN_OF_LIFE]));
        const reader = new DatagramReader();
        const came: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += size)
          for (const each of reader.read(bytes.subarray(at, at + size))) came.push(Buffer.from(each));
        assert.deepEqual(
          came.map((each) => each.toString("hex")),
          sent.map((each) => Buffer.from(each).toString("hex")),
        );
      }),
    );
  });

  it("cost a little for each byte, also where these come one by one", () => {
    const packet = Buffer.alloc(65_535, 7);
    const bytes = Buffer.concat([datagramHeader(packet.length), packet]);
    const reader = new DatagramReader();
    const before = process.cpuUsage();
    let came = 0;
    for (let round = 0; round < 8; round++)
      for (let at = 0; at < bytes.length; at++)
        for (const each of reader.read(bytes.subarray(at, at + 1))) came += each.equals(packet) ? 1 : 0;
    const { user, system } = process.cpuUsage(before);
    assert.equal(came, 8);
    // All that has come, copied for each byte, would be ten seconds.
    assert.ok(user + system < 3_000_000, `${user + system} µs`);
  });

  it("are WireGuard's, or are not carried", () => {
    const packet = (type: number, length = 32, third = 0) => {
      const bytes = Buffer.alloc(length);
      bytes.writeUInt8(type, 0);
      bytes.writeUInt8(third, 2);
      return bytes;
    };
    for (const type of [1, 2, 3, 4]) assert.equal(isWireguard(packet(type)), true);
    for (const wrong of [packet(0), packet(5), packet(4, 31), packet(4, 32, 1), Buffer.alloc(0)])
      assert.equal(isWireguard(wrong), false);
  });
});
