import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  formatIp,
  formatRange,
  inRange,
  parseIp,
  parseRange,
  validateCidr,
  validateEndpointIp,
  validateIp,
} from "./ip-address.ts";

test("an address and its text are the same thing", () => {
  const value = (bits: bigint) => fc.bigInt({ min: 0n, max: (1n << bits) - 1n });
  fc.assert(
    fc.property(value(32n), value(128n), (four, six) => {
      for (const address of [
        { family: "IPv4", value: four },
        { family: "IPv6", value: six },
      ] as const) {
        assert.deepEqual(parseIp(formatIp(address)), address);
      }
    }),
  );
});

test("IPv6 is written as RFC 5952 has it", () => {
  const texts = [
    ["0:0:0:0:0:0:0:1", "::1"],
    ["2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["::ffff:1.2.3.4", "::ffff:102:304"],
    ["1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0"],
    ["::", "::"],
  ];
  for (const [text = "", wanted] of texts) {
    const address = parseIp(text);
    assert.equal(address && formatIp(address), wanted);
  }
});

test("ranges are cut to their prefix", () => {
  const range = parseRange("10.1.2.3/16");
  assert.ok(range);
  assert.equal(formatRange(range), "10.1.0.0/16");
  const within = (text: string) => inRange(parseIp(text) ?? assert.fail(text), range);
  assert.deepEqual(["10.1.0.0", "10.1.255.255", "10.2.0.0", "::1"].map(within), [true, true, false, false]);
  for (const text of ["10.1.2.3", "10.1.2.3/33", "x/8", "10.1.2.3/", "10.1.2.3/-1"]) {
    assert.equal(parseRange(text), undefined, text);
  }
});

test("what is wrong with addresses is told in Kubernetes' words", () => {
  const text = (errors: readonly { detail: string }[]) => errors.map(({ detail }) => detail);
  assert.deepEqual(text(validateIp("1.2.3", "ip")), ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]);
  assert.deepEqual(text(validateIp("010.0.0.1", "ip")), ["must not have leading 0s"]);
  assert.deepEqual(text(validateIp("::ffff:1.2.3.4", "ip")), ["must not be an IPv4-mapped IPv6 address"]);
  assert.deepEqual(text(validateCidr("10.0.0.1/8", "cidr")), ["must not have bits set beyond the prefix length"]);
  assert.deepEqual(text(validateCidr("10.0.0.0/99", "cidr")), [
    "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
  ]);
  assert.deepEqual(text(validateEndpointIp("127.0.0.1", "ip")), [
    "may not be in the loopback range (127.0.0.0/8, ::1/128)",
  ]);
  assert.deepEqual(text(validateEndpointIp("10.0.0.1", "ip")), []);
  assert.deepEqual(text(validateEndpointIp("127.88.0.1", "ip", { onLoopback: true })), []);
});
