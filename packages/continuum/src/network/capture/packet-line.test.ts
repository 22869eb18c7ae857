import assert from "node:assert/strict";
import { test } from "node:test";
import { packetLine } from "./packet-line.ts";

const line = (hex: string, length?: number) => {
  const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
  return packetLine({ at: 1_893_456_000_000_250, direction: "out", bytes, length: length ?? bytes.length });
};
const V4 = (protocol: string, fragment = "0000", total = "0000") =>
  `4500${total} 0000${fragment} 40${protocol}0000 0a2a000b f0000015`;
const V6 = (next: string) =>
  `60000000 0000${next}40 fd420000000000000000 00000000000b fd666a6f0000000000 000000000000 15`;

test("packets are told as tcpdump tells them", () => {
  const cases: [string, RegExp, number?][] = [
    [
      `${V4("06")} 9d78 0050 00000007 00000000 5002 faf0 00000000`,
      /IP 10\.42\.0\.11\.40312 > 240\.0\.0\.21\.80: Flags \[S\], seq 7, win 64240, length 0$/,
    ],
    [
      `${V4("06")} 9d78 0050 fffffffe 00000009 5018 0001 00000000 0102030405`,
      /Flags \[P\.\], seq 4294967294:3, ack 9, win 1, length 5$/,
    ],
    // Only the beginning of it is there.
    [`${V4("06")} 9d78 0050 00000007 00000000 5010 faf0 00000000`, /length 1300$/, 1340],
    [`${V4("06")} 9d78 0050`, /10\.42\.0\.11\.40312 > 240\.0\.0\.21\.80: TCP, length 20$/, 40],
    [`${V4("11")} 0035 9d78 000d 0000 0102030405`, /240\.0\.0\.21\.40312: UDP, length 5$/],
    [`${V4("11", "00b9")} 0102`, /240\.0\.0\.21: a later piece of a packet, length 2$/],
    [`${V4("01")} 0800 0000 0102 0003`, /10\.42\.0\.11 > 240\.0\.0\.21: ICMP echo request, id 258, seq 3, length 8$/],
    [`${V4("01")} 0304 0000 0000 0514`, /ICMP unreachable, to be cut to 1300, length 8$/],
    [`${V4("84")} 0102`, /protocol 132, length 2$/],
    [`${V6("11")} 0035 9d78 000d 0000 0102030405`, /IP6 fd42::b\.53 > fd66:6a6f::15\.40312: UDP, length 5$/],
    [`${V6("3a")} 0200 0000 00000500`, /ICMP6 packet too big, length 8$/],
    [`${V6("00")} 1100 000000000000 0035 9d78 000d 0000 0102030405`, /fd42::b\.53 > .*UDP, length 5$/],
    [`${V6("2c")} 1100 0009 00000000 0102`, /fd66:6a6f::15: a later piece of a packet, length 2$/],
    ["ff00", /2 bytes that are no packet of IP$/],
    ["", /0 bytes that are no packet of IP$/],
  ];
  for (const [hex, expected, length] of cases) assert.match(line(hex, length), expected, hex);
  assert.match(line("45"), /^\d\d:\d\d:\d\d\.000250 out /);
});
