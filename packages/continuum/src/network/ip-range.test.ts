import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { contains, formatRange, lastOf, overlaps, parseRange } from "./ip-range.ts";

const range = (text: string) => parseRange(text) ?? assert.fail(`${text} is a range`);

describe("A range of addresses", () => {
  it("is written as it was read, in the one way there is", () => {
    for (const [text, wanted] of [
      ["10.42.0.0/16", "10.42.0.0/16"],
      ["0.0.0.0/0", "0.0.0.0/0"],
      ["10.42.0.7", "10.42.0.7"],
      ["10.42.0.7/32", "10.42.0.7"],
      ["FD00:0042:0:0::/56", "fd00:42::/56"],
      ["fd66:6a6f::1/128", "fd66:6a6f::1"],
      ["::", "::"],
      ["::1", "::1"],
      ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
      ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
      ["::ffff:10.0.0.1", "::ffff:a00:1"],
    ] as const)
      assert.equal(formatRange(range(text)), wanted);
  });

  it("is refused where it is none, or has bits behind its prefix", () => {
    for (const text of [
      "",
      "10.42.0.0/33",
      "10.42.0.1/16",
      "fd00::1/64",
      "fd00::/129",
      "10.42/16",
      "10.42.0.0/",
      "10.42.0.0/16/3",
      "10.42.0.0/-1",
      "10.42.0.0/ 8",
      "fe80::1%eth0",
      "wave.example",
      "0x0a.0.0.0/8",
      "10.0.0.0/8; flush ruleset",
    ])
      assert.equal(parseRange(text), undefined, text);
  });

  it("overlaps with what it contains, and with nothing of the other family", () => {
    assert.ok(overlaps(range("10.0.0.0/8"), range("10.42.0.0/16")));
    assert.ok(overlaps(range("10.42.0.0/16"), range("10.0.0.0/8")));
    assert.ok(!overlaps(range("10.42.0.0/16"), range("10.43.0.0/16")));
    assert.ok(!overlaps(range("0.0.0.0/0"), range("::/0")));
    assert.ok(contains(range("10.0.0.0/8"), range("10.255.255.255")));
    assert.ok(!contains(range("10.42.0.0/16"), range("10.0.0.0/8")));
    assert.equal(lastOf(range("10.42.0.0/16")), range("10.42.255.255").first);
  });
});
