import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Link } from "@fjord/api";
import { fitLink, NOTHING_LEFT_OUT } from "./link-room.ts";
import type { Group } from "./network-state.ts";
import { withLeftOut } from "./plan-status.ts";
import { longAddresses, longGroups, longLink } from "./test-links.ts";

/** What API servers' store takes in one request, unless it is told otherwise. */
const STORED = 1.5 * 1024 * 1024;
/** The rest of the object: metadata, and what gateways may say in status. */
const ELSE = 64 * 1024;
/** As many as an introduction has. */
const most = longAddresses(8192);
const local = longAddresses(4, 100_000);

/** With what the API adds to it: who has written which of its fields, by the keys of its lists. */
function storedBytes({ spec }: Pick<Link, "spec">): number {
  const { groups, guests, relayTo = [], machines = [] } = spec;
  const keyed = (keys: object[], fields: object) =>
    Object.fromEntries(keys.map((key) => [`k:${JSON.stringify(key)}`, { ".": {}, ...fields }]));
  const set = (values: string[]) => Object.fromEntries(values.map((each) => [`v:${JSON.stringify(each)}`, {}]));
  const written = {
    "f:groups": keyed(
      groups.map(({ name }) => ({ name })),
      { "f:local": {}, "f:name": {}, "f:remote": {} },
    ),
    "f:guests": {
      "f:addresses": set(guests?.addresses ?? []),
      "f:names": keyed(
        (guests?.names ?? []).map(({ range }) => ({ range })),
        { "f:called": {}, "f:range": {} },
      ),
    },
    "f:relayTo": set(relayTo),
    "f:machines": set(machines),
  };
  return ELSE + JSON.stringify({ spec, written }).length;
}

const fitted = (own: Group[], introduced: ReadonlyMap<string, readonly Group[]>, guests = 0) => {
  const { spec, metadata } = longLink(own, guests);
  const found = fitLink(spec, introduced);
  return { ...found, bytes: storedBytes({ spec: found.spec }), metadata };
};
const consumers = (count: number, groups: (consumer: string) => Group[]) =>
  new Map(Array.from({ length: count }, (_, index) => [`c${index}`, groups(`c${index}`)]));

describe("a Link between providers that several consumers have introduced", () => {
  it("would be too large to be stored with all that five of them may say", () => {
    const all = [...consumers(5, (consumer) => longGroups(consumer, 1, local, most)).values()].flat();
    assert.ok(storedBytes(longLink(all, 0)) > STORED, `${storedBytes(longLink(all, 0))}`);
  });

  it("has all of it while that can be stored", () => {
    const introduced = consumers(3, (consumer) => longGroups(consumer, 1, local, most));
    const own = longGroups("own", 1, local, local);
    const { spec, left, bytes } = fitted(own, introduced, 100);
    assert.deepEqual(left, NOTHING_LEFT_OUT);
    assert.deepEqual(spec, longLink([...own, ...[...introduced.values()].flat()], 100).spec);
    assert.ok(bytes <= STORED);
  });

  it("can be stored with the most that as many of them as there may be say, beside all that the two have themselves", () => {
    for (const [count, groups, own, guests] of [
      [5, 1, 0, 0],
      [64, 1, 0, 0],
      [64, 256, 0, 0],
      [64, 256, 2_000, 0],
      [64, 1, 100, 20_000],
      [0, 0, 1, 20_000],
      [0, 0, 200, 0],
    ] as const) {
      const introduced = consumers(count, (consumer) =>
        longGroups(consumer, groups, local, most.slice(0, most.length / groups)),
      );
      const { spec, left, bytes } = fitted(longGroups("own", own, local, most.slice(0, 512)), introduced, guests);
      const what = `${count} consumers with ${groups} namespaces, ${own} own ones, ${guests} guests: ${bytes} bytes`;
      assert.ok(bytes <= STORED, what);
      // None of it for nothing.
      const isFull = bytes > 0.75 * STORED;
      const nothing = !left.pair && left.consumers.length === 0 && !left.homeWords;
      const isAtSchema = spec.groups.length >= 1020 || spec.guests?.addresses.length === 8192;
      assert.ok(isFull || isAtSchema || nothing, what);
      assert.ok(spec.groups.length <= 1024 && (spec.guests?.addresses.length ?? 0) <= 8192, what);
      for (const each of spec.groups) assert.ok(each.local.length > 0 && each.remote.length > 0, each.name);
    }
  });

  it("keeps all that the modest have, whatever others say", () => {
    const introduced = new Map([
      ...consumers(63, (consumer) => longGroups(consumer, 256, local, most.slice(0, 32))),
      ["modest", longGroups("modest", 3, local, longAddresses(20, 50_000))] as const,
    ]);
    const own = longGroups("own", 20, local, longAddresses(100, 60_000));
    const { spec, left } = fitted(own, introduced, 200);
    const of = (prefix: string) => spec.groups.filter(({ name }) => name.startsWith(`${prefix}-`));
    assert.deepEqual(of("modest"), introduced.get("modest"));
    assert.deepEqual(of("own"), own);
    assert.equal(spec.guests?.addresses.length, 200);
    assert.deepEqual([left.pair, left.homeWords, left.consumers.length], [false, false, 63]);
    assert.ok(!left.consumers.includes("modest"));
  });

  it("has of one namespace no more addresses than it may name", () => {
    const { spec, left } = fitted(longGroups("own", 1, longAddresses(9_000), local), new Map());
    assert.equal(spec.groups[0]?.local.length, 8192);
    assert.deepEqual(left, { pair: true, consumers: [], homeWords: false });
  });
});

describe("the AddressPlan of a Link that has no room for all", () => {
  const metadata = { name: "z".repeat(26), generation: 3 };
  const saying = (status: object | undefined, left: Parameters<typeof withLeftOut>[1], isAllKnown = true) =>
    withLeftOut({ metadata, ...(status && { status: status as never }) }, left, 0, isAllKnown);

  it("says whose addresses are left out, until none are", () => {
    assert.deepEqual(saying(undefined, NOTHING_LEFT_OUT).conditions, [], "nobody has to be told of what never was");
    const many = Array.from({ length: 10 }, (_, index) => `c${index}`);
    const said = saying(
      { conditions: [{ type: "Ready", status: "True", reason: "NamesKnown" }] },
      {
        pair: true,
        consumers: many,
        homeWords: true,
      },
    );
    const [ready, complete] = said.conditions ?? [];
    assert.equal(ready?.type, "Ready");
    assert.deepEqual([complete?.type, complete?.status, complete?.reason], ["LinkComplete", "False", "TooMany"]);
    assert.match(complete?.message ?? "", /some pods of the two sites do not meet; some guests of c0, .*c7 and 2 more/);
    assert.deepEqual(saying(said, NOTHING_LEFT_OUT, false), said, "it is not known yet what else there is");
    const after = saying(said, NOTHING_LEFT_OUT).conditions?.[1];
    assert.deepEqual([after?.status, after?.reason, after?.message], ["True", "AllListed", ""]);
  });
});
