import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Addresses, parseRange, splitRange } from "./addresses.ts";

describe("a node's range", () => {
  test("is shared by its pods and by what stands in for others, where it is large enough", () => {
    assert.deepEqual(splitRange("127.88.0.0/16"), { pods: "127.88.0.0/22", standIns: "127.88.128.0/17" });
    assert.deepEqual(splitRange("127.88.77.9/20"), { pods: "127.88.64.0/26", standIns: "127.88.72.0/21" });
    assert.deepEqual(splitRange("127.88.4.0/24"), { pods: "127.88.4.0/24" });
    assert.throws(() => splitRange("10.0.0.0/16"));
  });
});

describe("addresses of pods", () => {
  test("never belong to two, whatever is given out, given back and found again", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant("take"), fc.constant("restart"), fc.nat({ max: 20 }))), (steps) => {
        let addresses = new Addresses("127.9.0.0/28");
        const held = new Map<string, string>();
        let owners = 0;
        for (const step of steps) {
          if (step === "take") {
            const owner = `s${owners++}`;
            if (held.size === 14) {
              assert.throws(() => addresses.allocate(owner), /all 14 of 127\.9\.0\.0\/28 are in use/);
              continue;
            }
            const address = addresses.allocate(owner);
            assert.equal(held.has(address), false);
            assert.match(address, /^127\.9\.0\.([1-9]|1[0-4])$/);
            held.set(address, owner);
          } else if (step === "restart") {
            addresses = new Addresses("127.9.0.0/28");
            for (const [address, owner] of held) assert.equal(addresses.claim(address, owner), true);
          } else {
            const [address, owner] = [...held][Number(step)] ?? [];
            if (address === undefined || owner === undefined) continue;
            addresses.release(address, "someone else");
            addresses.release(address, owner);
            held.delete(address);
          }
        }
      }),
    );
  });

  test("leave the machine's own alone", () => {
    assert.equal(new Addresses("127.0.0.0/16").allocate("a"), "127.0.1.0");
  });

  for (const range of [
    "10.0.0.0/16",
    "127.0.0.0/8",
    "127.1.0.0/31",
    "127.1.0.0",
    "127.300.0.0/16",
    "",
    "127.0.0.0/25",
  ]) {
    test(`${range} is no range for them`, () => assert.throws(() => parseRange(range), /is not a range/));
  }
});
