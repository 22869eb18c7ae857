import { isIPv6 } from "node:net";
import { addressBytes, type Ends, extension, icmp, packetOf, tcp, udp } from "./packets.ts";

/** Packets between two addresses, in all the ways in which one may try to get past whoever looks. */
export function shapesOf(ends: Ends, port: number): Map<string, Buffer[]> {
  return isIPv6(ends.from) ? shapes6(ends, port) : shapes4(ends, port);
}

const SYN = 2;
const SYN_ACK = 0x12;
const RST = 4;

function shapes4(ends: Ends, port: number): Map<string, Buffer[]> {
  const { from, to } = ends;
  const plain = udp(ends, port);
  const whole = (payload: Parameters<typeof packetOf>[1], shape?: Parameters<typeof packetOf>[2]) => [
    packetOf(ends, payload, shape),
  ];
  // What the victim has sent to somebody, as an error would quote it.
  const quoted = packetOf({ from: to, to: from }, udp({ from: to, to: from }, port)).subarray(0, 28);
  const elsewhere = packetOf({ from: to, to: "192.0.2.2" }, udp({ from: to, to: "192.0.2.2" }, 51_820)).subarray(0, 28);
  const long = udp(ends, port, "x".repeat(48));
  const route = (type: number) =>
    Buffer.concat([Buffer.from([type, 7, 4]), addressBytes("10.42.0.11"), Buffer.from([0])]);
  return new Map([
    ["a datagram", whole(plain)],
    ["a datagram from port 53", whole(udp(ends, port, "hostile", 53))],
    ["a connection", whole(tcp(ends, port, SYN))],
    ["an answer to no connection", whole(tcp(ends, port, SYN_ACK))],
    ["a reset", whole(tcp(ends, port, RST))],
    ["a ping", whole(icmp(ends, 8, 0, Buffer.from("hostile")))],
    ["an error about what was never sent", whole(icmp(ends, 3, 1, quoted))],
    ["an error about somebody else's datagram", whole(icmp(ends, 3, 3, elsewhere))],
    ["an error that wants smaller packets", whole(icmp(ends, 3, 4, quoted, 68))],
    ["a redirect", whole(icmp(ends, 5, 1, quoted, addressBytes(from).readUInt32BE()))],
    ["a time stamp", whole(icmp(ends, 13, 0, Buffer.alloc(12)))],
    ["an address mask", whole(icmp(ends, 17, 0, Buffer.alloc(4)))],
    ["a packet in a packet", whole({ protocol: 4, bytes: packetOf(ends, plain) })],
    ["IPv6 in IPv4", whole({ protocol: 41, bytes: Buffer.alloc(60, 6) })],
    ["GRE", whole({ protocol: 47, bytes: Buffer.from("00000800", "hex") })],
    ["ESP", whole({ protocol: 50, bytes: Buffer.alloc(32) })],
    ["SCTP", whole({ protocol: 132, bytes: Buffer.alloc(32) })],
    ["IGMP", whole({ protocol: 2, bytes: Buffer.from("1100eeff00000000", "hex") })],
    ["a protocol that is none", whole({ protocol: 253, bytes: Buffer.from("hostile") })],
    ["a loose source route", whole(plain, { options: route(131) })],
    ["a strict source route", whole(plain, { options: route(137) })],
    ["a recorded route", whole(plain, { options: Buffer.from("0707040000000000", "hex") })],
    ["a router alert", whole(plain, { options: Buffer.from("94040000", "hex") })],
    [
      "pieces, of which the first hides the port",
      [
        packetOf(
          ends,
          { protocol: 17, bytes: long.bytes.subarray(0, 8) },
          { fragment: { offset: 0, more: true, id: 1 } },
        ),
        packetOf(
          ends,
          { protocol: 17, bytes: long.bytes.subarray(8) },
          { fragment: { offset: 8, more: false, id: 1 } },
        ),
      ],
    ],
    [
      "a last piece alone",
      whole({ protocol: 17, bytes: long.bytes.subarray(8) }, { fragment: { offset: 8, more: false, id: 2 } }),
    ],
    [
      "pieces that overlap",
      [
        packetOf(
          ends,
          { protocol: 17, bytes: long.bytes.subarray(0, 24) },
          { fragment: { offset: 0, more: true, id: 3 } },
        ),
        packetOf(
          ends,
          { protocol: 17, bytes: long.bytes.subarray(8) },
          { fragment: { offset: 8, more: false, id: 3 } },
        ),
      ],
    ],
    [
      "a piece beyond the largest packet",
      whole({ protocol: 17, bytes: long.bytes }, { fragment: { offset: 65_528, more: false, id: 4 } }),
    ],
    ["a wrong checksum", whole(plain, { spoil: (packet) => void packet.writeUInt16BE(0x1234, 10) })],
    ["a header of 8 bytes", whole(plain, { spoil: (packet) => void packet.writeUInt8(0x42, 0) })],
    ["a header that is longer than the packet", whole(plain, { spoil: (packet) => void packet.writeUInt8(0x4f, 0) })],
    ["a length of 65535", whole(plain, { spoil: (packet) => void packet.writeUInt16BE(65_535, 2) })],
    ["a length of 0", whole(plain, { spoil: (packet) => void packet.writeUInt16BE(0, 2) })],
    ["version 5", whole(plain, { spoil: (packet) => void packet.writeUInt8(0x55, 0) })],
    ["version 6 with addresses of IPv4", whole(plain, { spoil: (packet) => void packet.writeUInt8(0x60, 0) })],
    ["no time to live", whole(plain, { spoil: (packet) => void packet.writeUInt8(0, 8) })],
  ]);
}

function shapes6(ends: Ends, port: number): Map<string, Buffer[]> {
  const plain = udp(ends, port);
  const packet = (payload: Parameters<typeof packetOf>[1]) => [packetOf(ends, payload)];
  const quoted = packetOf({ from: ends.to, to: ends.from }, udp({ from: ends.to, to: ends.from }, port)).subarray(
    0,
    48,
  );
  const routing = (type: number) =>
    extension(43, plain, { body: Buffer.concat([Buffer.from([type, 1, 0, 0, 0, 0]), addressBytes("fd42::b")]) });
  const piece = (offset: number, more: boolean, bytes: Buffer) => {
    const body = Buffer.alloc(6);
    body.writeUInt16BE(offset | (more ? 1 : 0), 0);
    body.writeUInt32BE(815, 2);
    return packetOf(ends, extension(44, { protocol: 17, bytes }, { body, isFragment: true }));
  };
  const long = udp(ends, port, "x".repeat(48));
  return new Map([
    ["a datagram", packet(plain)],
    ["a connection", packet(tcp(ends, port, SYN))],
    ["an answer to no connection", packet(tcp(ends, port, SYN_ACK))],
    ["a ping", packet(icmp(ends, 128, 0, Buffer.from("hostile")))],
    ["an error about what was never sent", packet(icmp(ends, 1, 4, quoted))],
    ["an error that wants smaller packets", packet(icmp(ends, 2, 0, quoted, 1280))],
    ["a redirect", packet(icmp(ends, 137, 0, Buffer.concat([addressBytes(ends.from), addressBytes(ends.to)])))],
    ["an advertisement of a router", packet(icmp(ends, 134, 0, Buffer.alloc(8), 0x4000_0708))],
    ["a neighbour's advertisement", packet(icmp(ends, 136, 0, addressBytes(ends.from), 0x6000_0000))],
    ["hop-by-hop options", packet(extension(0, plain, { body: Buffer.from("050200000100", "hex") }))],
    ["options of a destination", packet(extension(60, plain, { body: Buffer.from("010400000000", "hex") }))],
    ["options that are none", packet(extension(60, plain, { body: Buffer.from("c2ffffffffff", "hex") }))],
    ["a routing header of type 0", packet(routing(0))],
    ["a routing header of type 2", packet(routing(2))],
    ["a routing header of segments", packet(routing(4))],
    [
      "many extensions",
      packet(
        Array.from({ length: 20 }).reduce(
          (next: typeof plain) => extension(60, next, { body: Buffer.from("010400000000", "hex") }),
          plain,
        ),
      ),
    ],
    [
      "pieces, of which the first hides the port",
      [piece(0, true, long.bytes.subarray(0, 8)), piece(8, false, long.bytes.subarray(8))],
    ],
    ["a last piece alone", [piece(8, false, long.bytes.subarray(8))]],
    ["a whole packet that says it is a piece", [piece(0, false, plain.bytes)]],
    ["nothing after the header", packet({ protocol: 59, bytes: Buffer.alloc(0) })],
    ["IPv4 in IPv6", packet({ protocol: 4, bytes: Buffer.alloc(40, 0x45) })],
    ["ESP", packet({ protocol: 50, bytes: Buffer.alloc(32) })],
    ["SCTP", packet({ protocol: 132, bytes: Buffer.alloc(32) })],
    ["a length of 65535", [spoilt(packetOf(ends, plain), (each) => void each.writeUInt16BE(65_535, 4))]],
    ["a length of 0", [spoilt(packetOf(ends, plain), (each) => void each.writeUInt16BE(0, 4))]],
    ["no hops left", [spoilt(packetOf(ends, plain), (each) => void each.writeUInt8(0, 7))]],
  ]);
}

function spoilt(packet: Buffer, spoil: (packet: Buffer) => void): Buffer {
  spoil(packet);
  return packet;
}
