import assert from "node:assert/strict";
import { test } from "node:test";
import { RangeParts } from "./pod-range.ts";

test("parts are handed out once, and again when they are free", () => {
  const parts = new RangeParts("10.244.0.0/22");
  parts.take("10.244.1.0/24");
  parts.take("192.168.0.0/24");
  assert.deepEqual(
    [parts.next(), parts.next(), parts.next(), parts.next()],
    ["10.244.0.0/24", "10.244.2.0/24", "10.244.3.0/24", undefined],
  );
  parts.release("10.244.2.0/24");
  assert.equal(parts.next(), "10.244.2.0/24");
  assert.equal(new RangeParts("10.0.0.0/26").next(), "10.0.0.0/26");
  assert.equal(new RangeParts("250.0.0.0/8", 9).next(), "250.0.0.0/9");
});
