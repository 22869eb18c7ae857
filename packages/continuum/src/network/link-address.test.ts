import assert from "node:assert/strict";
import { it } from "node:test";
import { contains, parseRange } from "./ip-range.ts";
import { LINK_RANGE, LINK_RANGES, linkAddress, linkRange, RELAY_RANGE, relayAddress } from "./link-address.ts";
import { checkNetworkFacts } from "./network-facts.ts";

it("sites have addresses on links by their ids alone, each another", () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => `site${index}`);
  const addresses = ids.map((id) => linkAddress(id));
  assert.deepEqual(
    ids.map((id) => linkAddress(id)),
    addresses,
  );
  assert.equal(new Set(addresses).size, ids.length);
  for (const address of addresses) assert.ok(contains(LINK_RANGE, parseRange(address) as never), address);
});

it("and on each lane another one, of a range that is that lane's", () => {
  const lanes = Array.from({ length: 8 }, (_, lane) => lane);
  const addresses = lanes.map((lane) => parseRange(linkAddress("site", lane)) as never);
  for (const lane of lanes)
    assert.deepEqual(
      addresses.map((address) => contains(linkRange(lane), address)),
      lanes.map((each) => each === lane),
    );
  for (const address of addresses) assert.ok(LINK_RANGES.some((range) => contains(range, address)));
});

it("and so behind hubs, where two may have the same", () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => `site${index}`);
  const addresses = ids.map(relayAddress);
  assert.deepEqual(ids.map(relayAddress), addresses);
  assert.ok(new Set(addresses).size >= ids.length - 1);
  for (const address of addresses) assert.ok(contains(RELAY_RANGE, parseRange(address) as never), address);
});

it("no peer may say that its pods are there", () => {
  const facts = { publicKey: `${"A".repeat(43)}=`, endpoints: [], names: [] };
  assert.equal(checkNetworkFacts({ ...facts, ranges: ["fd66:6a70:1::/48"] }), undefined);
  assert.equal(checkNetworkFacts({ ...facts, ranges: ["fd66:6a83:1::/48"] }), undefined);
  assert.equal(checkNetworkFacts({ ...facts, ranges: ["249.7.0.0/16"] }), undefined);
  assert.notEqual(checkNetworkFacts({ ...facts, ranges: ["fd66:6a71:1::/48"] }), undefined);
});
