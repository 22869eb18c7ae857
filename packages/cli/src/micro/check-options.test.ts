import assert from "node:assert/strict";
import { test } from "node:test";
import { checkMicroOptions, type MicroOptionTexts } from "./check-options.ts";

const good: MicroOptionTexts = {
  address: "127.0.0.1",
  serviceRange: "127.96.0.0/16",
  endpoint: [],
  capacity: [],
  label: [],
};

test("options of a micro site that can be used are taken", () => {
  for (const more of [
    {},
    { address: "::1", podRange: "127.88.0.0/16", serveDns: "127.0.0.53" },
    { endpoint: ["https://wave.example:7443"], capacity: ["cpu=2,memory=4Gi", "example.com/gpu=1"], label: ["a=b"] },
    { serviceRange: "127.128.0.0/9", podRange: "127.88.0.0/30", serveDns: "127.0.0.53:5353" },
  ])
    checkMicroOptions({ ...good, ...more });
});

const wrong: [string, Partial<MicroOptionTexts>, RegExp][] = [
  [
    "an amount that is none",
    { capacity: ["bogus/cpu=abc"] },
    /--capacity bogus\/cpu=abc: "abc" is not a quantity, such as 2/,
  ],
  ["a resource without an amount", { capacity: ["cpu"] }, /--capacity cpu: "" is not a quantity/],
  ["a label that is none", { label: ["a_b"] }, /--label a_b: a label is written NAME=VALUE/],
  ["a word as range of Services", { serviceRange: "bogus" }, /--service-range cannot be bogus: .* such as 127\.96/],
  ["nothing as range of Services", { serviceRange: "" }, /--service-range cannot be empty/],
  ["Services off loopback", { serviceRange: "10.96.0.0/16" }, /--service-range cannot be 10\.96\.0\.0\/16/],
  ["all of loopback", { serviceRange: "127.0.0.0/8" }, /--service-range cannot be 127\.0\.0\.0\/8/],
  ["a range with two prefixes", { serviceRange: "127.96.0.0/16/16" }, /--service-range cannot be/],
  ["pods off loopback", { podRange: "10.0.0.0/8" }, /--pod-range cannot be 10\.0\.0\.0\/8/],
  ["pods among Services", { podRange: "127.96.7.0/24" }, /--pod-range cannot be .*must not overlap/],
  ["a name as address", { address: "wave.example" }, /--address cannot be wave\.example/],
  ["names served nowhere", { serveDns: "x" }, /--serve-dns x: is not an IP address/],
  ["an endpoint that is no URL", { endpoint: ["x"] }, /--endpoint cannot be x: .* such as https/],
];
for (const [what, more, message] of wrong)
  test(`${what} is refused in words that say what to write`, () => {
    assert.throws(() => checkMicroOptions({ ...good, ...more }), message);
  });
