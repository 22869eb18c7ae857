import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksThere } from "./block-names.ts";

const plan = {
  site: "wave",
  own: [
    { range: "10.42.0.0/16", called: "240.1.0.0/16" },
    { range: "fd77:1::/48", called: "fd77:1::/48" },
    { range: "10.50.0.0/16" },
  ],
  peer: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
} as unknown as Parameters<typeof blocksThere>[0];
const there = (cidr: string, ...except: string[]) => blocksThere(plan, { cidr, ...(except.length > 0 && { except }) });

test("own pods are called what they are called there", () => {
  assert.deepEqual(there("10.42.7.0/24"), [{ cidr: "240.1.7.0/24" }]);
  assert.deepEqual(there("10.42.7.9/32"), [{ cidr: "240.1.7.9/32" }]);
  assert.deepEqual(there("fd77:1:0:2::/64"), [{ cidr: "fd77:1:0:2::/64" }]);
  assert.deepEqual(there("10.0.0.0/8"), [{ cidr: "240.1.0.0/16" }]);
});

test("the peer's, as they are called here, are what they are there", () => {
  assert.deepEqual(there("240.0.3.0/24"), [{ cidr: "10.42.3.0/24" }]);
});

test("other addresses of this site are somebody else's there", () => {
  for (const cidr of [
    "10.43.0.0/16",
    "192.168.7.0/24",
    "10.50.0.0/16",
    "169.254.169.254/32",
    "fd00::/64",
    "127.0.0.1/32",
  ])
    assert.deepEqual(there(cidr), [], cidr);
});

test("what is the same everywhere stays", () => {
  for (const cidr of ["0.0.0.0/0", "::/0", "93.184.0.0/16", "2001:db8::/32"])
    assert.deepEqual(there(cidr), [{ cidr }], cidr);
  // It has own pods in it, and not what they are called there.
  assert.deepEqual(there("0.0.0.0/1"), [{ cidr: "0.0.0.0/1" }, { cidr: "240.1.0.0/16" }]);
});

test("what is excepted stays so, by either name", () => {
  assert.deepEqual(there("0.0.0.0/0", "10.0.0.0/8"), [{ cidr: "0.0.0.0/0", except: ["10.0.0.0/8", "240.1.0.0/16"] }]);
  assert.deepEqual(there("10.42.0.0/16", "10.42.7.0/24"), [{ cidr: "240.1.0.0/16", except: ["240.1.7.0/24"] }]);
  assert.deepEqual(there("10.0.0.0/8", "10.42.0.0/16"), []);
  assert.deepEqual(there("0.0.0.0/1", "10.42.0.0/16"), [{ cidr: "0.0.0.0/1", except: ["10.42.0.0/16"] }]);
});

test("what is no range is left out", () => {
  assert.deepEqual(there("nonsense"), []);
});
