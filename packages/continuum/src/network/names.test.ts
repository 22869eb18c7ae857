import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type IpRange, overlaps } from "./ip-range.ts";
import { chooseNames, type NamedRange } from "./names.ts";
import { formatCidr, parseCidr, parseCidrs, sizeOf, summarise } from "./ranges.ts";

const range = (text: string) => parseCidr(text) as IpRange;
const pools = parseCidrs(["240.0.0.0/5", "fd66:6a6f::/32"]);
const textOf = (names: readonly NamedRange[]) =>
  names.map(({ range: real, called }) => `${formatCidr(real)} ${called === undefined ? "-" : formatCidr(called)}`);
const choose = (ranges: string[], taken: string[] = [], before: [string, string][] = [], from = pools) =>
  textOf(
    chooseNames({
      ranges: parseCidrs(ranges),
      taken: parseCidrs(taken),
      before: before.map(([real, called]) => ({ range: range(real), called: range(called) })),
      pools: from,
    }),
  );

describe("what a peer's ranges are called", () => {
  it("is what they are, where that overlaps with nothing", () => {
    assert.deepEqual(choose(["10.44.0.0/16", "fd00:44::/56"], ["10.42.0.0/16", "10.43.0.0/16", "fd00:42::/56"]), [
      "10.44.0.0/16 10.44.0.0/16",
      "fd00:44::/56 fd00:44::/56",
    ]);
  });

  it("is of the same size, out of the pool, where it does", () => {
    assert.deepEqual(choose(["10.42.0.0/16"], ["10.42.0.0/16"]), ["10.42.0.0/16 240.0.0.0/16"]);
    assert.deepEqual(choose(["fd00:42::/56"], ["fd00:42::/48"]), ["fd00:42::/56 fd66:6a6f::/56"]);
    assert.deepEqual(choose(["10.42.7.0/24"], ["10.42.0.0/16"]), ["10.42.7.0/24 240.0.0.0/24"]);
    assert.deepEqual(choose(["10.0.0.0/8"], ["10.42.0.0/16"]), ["10.0.0.0/8 240.0.0.0/8"]);
  });

  it("is never the real range where that may be somebody else's", () => {
    assert.deepEqual(choose(["8.8.8.0/24", "2001:db8::/56", "127.88.0.0/16"]), [
      "8.8.8.0/24 240.1.0.0/24",
      "2001:db8::/56 fd66:6a6f::/56",
      "127.88.0.0/16 240.0.0.0/16",
    ]);
  });

  it("is another for each of several peers", () => {
    assert.deepEqual(choose(["10.42.0.0/16"], ["10.42.0.0/16", "240.0.0.0/16", "240.1.0.0/16"]), [
      "10.42.0.0/16 240.2.0.0/16",
    ]);
  });

  it("translates only the range that overlaps", () => {
    assert.deepEqual(choose(["10.42.0.0/16", "10.50.0.0/16", "fd00::/56"], ["10.42.0.0/16"]), [
      "10.42.0.0/16 240.0.0.0/16",
      "10.50.0.0/16 10.50.0.0/16",
      "fd00::/56 fd00::/56",
    ]);
  });

  it("stays, though the real range has become free", () => {
    assert.deepEqual(choose(["10.42.0.0/16"], [], [["10.42.0.0/16", "240.9.0.0/16"]]), ["10.42.0.0/16 240.9.0.0/16"]);
  });

  it("changes where it overlaps with what has come", () => {
    assert.deepEqual(choose(["10.44.0.0/16"], ["10.44.0.0/24"], [["10.44.0.0/16", "10.44.0.0/16"]]), [
      "10.44.0.0/16 240.0.0.0/16",
    ]);
  });

  it("stays for a range to which others are added, and is not given to these", () => {
    assert.deepEqual(
      choose(["10.41.0.0/16", "10.42.0.0/16"], ["10.41.0.0/16", "10.42.0.0/16"], [["10.42.0.0/16", "240.0.0.0/16"]]),
      ["10.41.0.0/16 240.1.0.0/16", "10.42.0.0/16 240.0.0.0/16"],
    );
  });

  it("is not kept in another size or family", () => {
    assert.deepEqual(choose(["10.44.0.0/16"], ["10.44.0.0/16"], [["10.44.0.0/16", "240.9.0.0/24"]]), [
      "10.44.0.0/16 240.0.0.0/16",
    ]);
  });

  it("is nothing where the pool has no place of that size", () => {
    const small = parseCidrs(["240.0.0.0/15"]);
    assert.deepEqual(choose(["10.42.0.0/16"], ["10.42.0.0/16", "240.0.0.0/24", "240.1.0.0/32"], [], small), [
      "10.42.0.0/16 -",
    ]);
    assert.deepEqual(choose(["fd00::/56"], ["fd00::/56"], [], small), ["fd00::/56 -"]);
    assert.deepEqual(choose(["10.0.0.0/8"], ["10.0.0.0/8"], [], small), ["10.0.0.0/8 -"]);
  });

  it("is never what exports have at every site", () => {
    assert.deepEqual(choose(["252.0.0.0/20", "fd66:6a71::/116"], []), [
      "252.0.0.0/20 240.0.0.0/20",
      "fd66:6a71::/116 fd66:6a6f::/116",
    ]);
  });

  it("may come from a second pool", () => {
    const two = parseCidrs(["240.0.0.0/16", "100.64.0.0/10"]);
    assert.deepEqual(choose(["10.42.0.0/16"], ["10.42.0.0/16", "240.0.4.0/24"], [], two), [
      "10.42.0.0/16 100.64.0.0/16",
    ]);
  });

  it("gives large ranges their place before small ones take it", () => {
    const pool = parseCidrs(["240.0.0.0/15"]);
    assert.deepEqual(choose(["10.42.0.0/24", "10.43.0.0/16"], ["10.42.0.0/15"], [], pool), [
      "10.42.0.0/24 240.1.0.0/24",
      "10.43.0.0/16 240.0.0.0/16",
    ]);
  });

  it("is found soon, however many others have names, and whatever is a word elsewhere", () => {
    const names = (first: number, step: number) =>
      parseCidrs(Array.from({ length: 2_000 }, (_, i) => `240.${first}.${(step * i) >> 8}.${(step * i) & 255}/32`));
    const ranges = parseCidrs(Array.from({ length: 16 }, (_, i) => `203.0.113.${2 * i}/31`));
    const before = process.cpuUsage();
    const found = chooseNames({
      ranges,
      before: [],
      taken: names(0, 1),
      unwelcome: names(1, 2),
      pools: [pools[0] as IpRange],
    });
    const { user, system } = process.cpuUsage(before);
    assert.equal(textOf(found)[15], "203.0.113.30/31 240.0.7.238/31");
    // With each place compared with all of them it would be some seconds.
    assert.ok(user + system < 1_000_000, `${user + system} µs`);
  });

  /** Few bits, so that many of them overlap. */
  const small = fc
    .record({ at: fc.integer({ min: 0, max: 63 }), length: fc.integer({ min: 0, max: 4 }) })
    .map(({ at, length }) => range(`10.0.0.${at}/${28 + length}`));
  const apart = fc.array(small, { maxLength: 6 }).map((ranges) => summarise(ranges));
  const wishes = fc.record({ ranges: apart, taken: fc.array(small, { maxLength: 6 }) });
  const pool = parseCidrs(["240.0.0.0/24"]);

  it("overlaps with nothing, has the right size, and stays when asked again", () => {
    fc.assert(
      fc.property(wishes, ({ ranges, taken }) => {
        const names = chooseNames({ ranges, taken, before: [], pools: pool });
        assert.equal(names.length, ranges.length);
        const called = names.map((each) => each.called as IpRange);
        for (const [index, name] of called.entries()) {
          assert.equal(name.length, ranges[index]?.length);
          assert.ok(![...taken, ...called.toSpliced(index, 1)].some((other) => overlaps(other, name)));
        }
        assert.deepEqual(chooseNames({ ranges, taken, before: names, pools: pool }), names);
      }),
    );
  });

  it("stays for every range that stays, whatever else comes and goes at the peer", () => {
    fc.assert(
      fc.property(wishes, apart, ({ ranges, taken }, later) => {
        const before = chooseNames({ ranges, taken, before: [], pools: pool });
        const after = chooseNames({ ranges: later, taken, before, pools: pool });
        for (const { range: real, called } of before) {
          const same = after.find((each) => formatCidr(each.range) === formatCidr(real));
          if (same !== undefined) assert.deepEqual(same.called, called);
        }
      }),
    );
  });

  it("never overlaps between peers that come in any order", () => {
    fc.assert(
      fc.property(fc.array(apart, { maxLength: 4 }), apart, (peers, own) => {
        const used = [...own];
        for (const ranges of peers) {
          for (const { called } of chooseNames({ ranges, taken: used, before: [], pools: pool })) {
            if (called === undefined) continue;
            assert.ok(!used.some((each) => overlaps(each, called)));
            used.push(called);
          }
        }
        const total = used.reduce((sum, each) => sum + sizeOf(each), 0n);
        assert.equal(
          summarise(used).reduce((sum, each) => sum + sizeOf(each), 0n),
          total,
        );
      }),
    );
  });
});
