import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AddressOwners, leadingProblem } from "./leading-address.ts";
import { RangeSet } from "./range-set.ts";
import { parseCidrs } from "./ranges.ts";

/** A provider with pods in 10.42.0.0/16 and fd42::/64, Services in 10.96.0.0/16 and a node at 192.168.7.4. */
function owners(changes: Partial<AddressOwners> = {}): AddressOwners {
  return {
    called: parseCidrs(["240.0.0.0/16", "10.50.0.0/16", "fd50::/64"]),
    peers: new RangeSet(parseCidrs(["240.0.0.0/16", "10.50.0.0/16", "fd50::/64", "240.1.0.0/16", "10.60.0.0/16"])),
    own: new RangeSet(parseCidrs(["10.42.0.0/16", "fd42::/64", "10.96.0.0/16", "192.168.7.4/32"])),
    pools: () => parseCidrs(["240.0.0.0/5"]),
    isLinked: true,
    ...changes,
  };
}
const alone = owners({ isLinked: false });
const anothers = /another site/;
const own = /provider's own/;
const machine = /a machine itself/;
const unknown = /nothing that pods of the consumer are called/;
const none = /is no address/;

const cases: [string, RegExp | undefined, RegExp | undefined][] = [
  // What it is, with a link, and without one.
  ["240.0.3.4", undefined, undefined],
  ["10.50.0.1", undefined, undefined],
  ["fd50::5", undefined, undefined],
  ["FD50:0::5", undefined, undefined],
  ["240.1.0.9", anothers, anothers],
  ["10.60.255.255", anothers, anothers],
  ["10.42.0.7", own, own],
  ["10.42.255.255", own, own],
  ["fd42::7", own, own],
  ["10.96.0.1", own, own],
  ["192.168.7.4", own, own],
  ["192.168.7.5", unknown, undefined],
  ["10.43.0.7", unknown, undefined],
  ["203.0.113.5", unknown, undefined],
  ["2001:db8::1", unknown, undefined],
  ["240.200.0.1", undefined, undefined],
  ["127.0.0.1", machine, machine],
  ["127.5.0.1", machine, machine],
  ["0.0.0.0", machine, machine],
  ["169.254.169.254", machine, machine],
  ["224.0.0.1", machine, machine],
  ["255.255.255.255", machine, machine],
  ["::1", machine, machine],
  ["::", machine, machine],
  ["fe80::1", machine, machine],
  ["ff02::1", machine, machine],
  ["fd66:6a70::1", machine, machine],
  ["248.0.0.1", machine, machine],
  ["252.0.0.5", unknown, undefined],
  ["::ffff:10.42.0.7", none, none],
  ["::10.42.0.7", machine, machine],
  ["010.42.0.7", none, none],
  ["10.42.7", none, none],
  ["0x0a2a0007", none, none],
  ["10.42.0.7/32", none, none],
  [" 10.42.0.7", none, none],
  ["fe80::1%eth0", none, none],
  ["db.example.com", none, none],
  ["", none, none],
];

describe("endpoints of a consumer", () => {
  for (const [text, linked, unlinked] of cases)
    test(`lead to ${JSON.stringify(text)}: ${linked ?? "yes"} with a link, ${unlinked ?? "yes"} without`, () => {
      for (const [found, wanted] of [
        [leadingProblem(text, owners()), linked],
        [leadingProblem(text, alone), unlinked],
      ] as const)
        if (wanted === undefined) assert.equal(found, undefined);
        else assert.match(found ?? "", wanted);
    });

  test("lead to stand-ins on loopback, and to nothing else there", () => {
    const proxied = owners({ called: parseCidrs(["127.77.4.0/24"]), isLinked: false });
    assert.equal(leadingProblem("127.77.4.9", proxied), undefined);
    assert.match(leadingProblem("127.77.5.9", proxied) ?? "", machine);
    assert.equal(leadingProblem("192.168.7.5", proxied), undefined);
  });

  test("lead to what their pods are called, though an owner says of more that it is theirs", () => {
    const wide = owners({ own: new RangeSet(parseCidrs(["10.0.0.0/8"])) });
    assert.equal(leadingProblem("10.50.0.1", wide), undefined);
    assert.match(leadingProblem("10.51.0.1", wide) ?? "", own);
  });
});
