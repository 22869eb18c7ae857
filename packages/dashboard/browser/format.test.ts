import assert from "node:assert/strict";
import { test } from "node:test";
import { amountText, plural, share, sinceText, sliceText, spanText } from "./format.ts";

test("amounts are told as people say them", () => {
  assert.equal(amountText("cpu", 1500), "1.5");
  assert.equal(amountText("cpu", 250), "0.25");
  assert.equal(amountText("cpu", 64_500), "65");
  assert.equal(amountText("memory", 8 * 1024 ** 3), "8 GiB");
  assert.equal(amountText("memory", 1.5 * 1024 ** 3), "1.5 GiB");
  assert.equal(amountText("memory", 512 * 1024 ** 2), "512 MiB");
  assert.equal(amountText("memory", 4000 * 1024 ** 3), "3.9 TiB");
  assert.equal(amountText("pods", 110), "110");
  assert.equal(amountText("pods", undefined), "–");
});

test("slices in a few words", () => {
  assert.equal(sliceText({ cpu: 4000, memory: 8 * 1024 ** 3, pods: 50 }), "4 cpu · 8 GiB");
  assert.equal(sliceText({ pods: 50 }), "50 pods");
  assert.equal(sliceText({}), "");
});

test("spans of time", () => {
  assert.deepEqual([0, 45_000, 120_000, 7_200_000, 3 * 86_400_000].map(spanText), [
    "0 s",
    "45 s",
    "2 min",
    "2 h",
    "3 d",
  ]);
  assert.equal(sinceText("2030-01-01T00:00:00Z", Date.parse("2030-01-01T00:00:12Z")), "12 s");
  assert.equal(sinceText(undefined, 0), "");
});

test("shares stay between nothing and all", () => {
  assert.deepEqual([share(1, 4), share(9, 4), share(undefined, 4), share(1, 0)], [0.25, 1, 0, 0]);
  assert.deepEqual([plural(1, "pod"), plural(2, "pod")], ["1 pod", "2 pods"]);
});
