import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { contains, type Family, formatAddress, formatRange, type IpRange, overlaps } from "./ip-range.ts";
import { formatCidr, move, parseAddress, parseCidr, parseCidrs, sizeOf, summarise } from "./ranges.ts";

const family = fc.constantFrom<Family>(4, 6);
const addresses = family.chain((each) =>
  fc
    .bigInt({ min: 0n, max: (1n << (each === 4 ? 32n : 128n)) - 1n })
    .map((first): IpRange => ({ family: each, first, length: each === 4 ? 32 : 128 })),
);
/** Few bits, so that many of them overlap. */
const smallRanges = fc
  .record({ family, bits: fc.integer({ min: 0, max: 15 }), more: fc.integer({ min: 0, max: 4 }) })
  .map(({ family: each, bits, more }): IpRange => {
    const [whole, length] = each === 4 ? [32, 28 + more] : [128, 124 + more];
    const value = BigInt(bits) + (each === 4 ? 10n << 24n : 0xfdn << 120n);
    return { family: each, first: (value >> BigInt(whole - length)) << BigInt(whole - length), length };
  });
const everyAddress = (ranges: readonly IpRange[]) =>
  new Set(
    ranges.flatMap((range) =>
      Array.from({ length: Number(sizeOf(range)) }, (_, at) => formatAddress(range.family, range.first + BigInt(at))),
    ),
  );
const range = (text: string) => parseCidr(text) as IpRange;

describe("an address", () => {
  for (const [text, written] of [
    ["10.42.0.7", "10.42.0.7"],
    ["0.0.0.0", "0.0.0.0"],
    ["255.255.255.255", "255.255.255.255"],
    ["FD00:42:0:0::7", "fd00:42::7"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"],
    ["1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"],
  ] as const) {
    it(`${text} is written as ${written}`, () => {
      assert.equal(formatRange(parseAddress(text) as IpRange), written);
    });
  }

  for (const text of [
    "",
    "10.42.0",
    "10.42.0.256",
    "010.1.1.1",
    "fe80::1%eth0",
    "::ffff:10.0.0.1",
    "::ffff:a00:1",
    "x",
  ]) {
    it(`is not what says "${text}"`, () => assert.equal(parseAddress(text), undefined));
  }

  it("is the same after it was written and read", () => {
    fc.assert(
      fc.property(addresses, (address) => {
        const text = formatRange(address);
        if (address.family === 6 && address.first >> 32n === 0xffffn) return;
        assert.deepEqual(parseAddress(text), address);
        assert.equal(formatRange(parseAddress(text) as IpRange), text);
      }),
    );
  });
});

describe("a range", () => {
  it("has no bits beyond its prefix", () => {
    assert.equal(formatCidr(range("10.42.3.7/16")), "10.42.0.0/16");
    assert.equal(formatCidr(range("fd00:42::7/56")), "fd00:42::/56");
    assert.equal(formatCidr(range("10.1.2.3/32")), "10.1.2.3/32");
    assert.equal(formatCidr(range("10.1.2.3/0")), "0.0.0.0/0");
  });

  for (const text of [
    "10.42.0.0",
    "10.42.0.0/33",
    "10.42.0.0/-1",
    "10.42.0.0/016",
    "fd00::/129",
    "/16",
    "10.0.0.0/8/8",
  ]) {
    it(`is not what says "${text}"`, () => assert.equal(parseCidr(text), undefined));
  }

  it("leaves out what is none", () => {
    assert.deepEqual(parseCidrs(["10.0.0.0/8", "there"]).map(formatCidr), ["10.0.0.0/8"]);
  });

  it("overlaps with another exactly where they share an address", () => {
    fc.assert(
      fc.property(smallRanges, smallRanges, (one, other) => {
        const shared = everyAddress([one]).intersection(everyAddress([other]));
        assert.equal(overlaps(one, other), shared.size > 0);
        assert.equal(overlaps(one, other), overlaps(other, one));
      }),
    );
  });

  it("moves its addresses one to one, and back", () => {
    fc.assert(
      fc.property(smallRanges, fc.bigInt({ min: 0n, max: 15n }), (from, offset) => {
        const to: IpRange = { ...from, first: from.first + 16n * sizeOf(from) };
        const length = from.family === 4 ? 32 : 128;
        const address = { family: from.family, first: from.first + (offset % sizeOf(from)), length };
        const moved = move(address, from, to);
        assert.ok(contains(to, moved));
        assert.deepEqual(move(moved, to, from), address);
      }),
    );
  });
});

describe("a summary of ranges", () => {
  it("joins what belongs together", () => {
    const texts = ["10.42.1.0/24", "10.42.0.0/24", "10.42.3.0/24", "10.42.2.0/24", "10.42.5.0/24", "10.42.0.128/25"];
    assert.deepEqual(summarise(parseCidrs(texts)).map(formatCidr), ["10.42.0.0/22", "10.42.5.0/24"]);
  });

  it("has the same addresses, none twice, and cannot be shorter", () => {
    fc.assert(
      fc.property(fc.array(smallRanges), (ranges) => {
        const summary = summarise(ranges);
        assert.deepEqual(everyAddress(summary), everyAddress(ranges));
        assert.equal(
          summary.reduce((sum, each) => sum + sizeOf(each), 0n),
          BigInt(everyAddress(ranges).size),
        );
        assert.deepEqual(summarise(summary), summary);
      }),
    );
  });
});
