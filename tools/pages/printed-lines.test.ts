import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceOf } from "./printed-lines.ts";

const nodes = ["NAME     STATUS   AGE     VERSION", "harbor   Ready    2m3s    v1.36.0"];

test("columns, ages, times and ids may be others, and nothing else", () => {
  assert.equal(differenceOf(nodes, "NAME   STATUS  AGE  VERSION\nharbor   Ready  5s  v1.36.0\n"), undefined);
  assert.match(differenceOf(nodes, "NAME   STATUS  AGE  VERSION\nharbor   NotReady  5s  v1.36.0\n") ?? "", /NotReady/);
  assert.match(differenceOf(nodes, "NAME   STATUS  AGE  VERSION\n") ?? "", /printed/);
  assert.match(differenceOf(nodes.slice(0, 1), "NAME STATUS AGE VERSION\nmore\n") ?? "", /more/);
  const same: [string, string][] = [
    ["web-7d4b9c6f5-x2x4p 1/1", "web-5c689d88bb-q9z7w 1/1"],
    ["c-j64haewjnwdqppig Active 2026-11-16T18:05:41.517Z", "c-aaaaaaaaaaaaaaaa Active 2030-01-01T00:00:00Z"],
    ["lively-wave/hello-fevgztgn6ln4wqxnhf47q4maap", "lively-wave/hello-aevgztgn6ln4wqxnhf47q4maap"],
    ["it serves after 1.2 s.", "it serves after 10.0 s."],
  ];
  for (const [shown, printed] of same) assert.equal(differenceOf([shown], printed), undefined);
  assert.notEqual(differenceOf(["lively-wave 1"], "lively-wave 2"), undefined);
});

test("dots stand for what the page leaves out", () => {
  assert.equal(differenceOf(["a ... c", "...", "z"], "a b b c\nd\ne\nz\n"), undefined);
  assert.equal(differenceOf(["..."], ""), undefined);
  assert.notEqual(differenceOf(["a ... c", "...", "z"], "a b b c\nd\ne\n"), undefined);
  assert.notEqual(differenceOf(["a (b)"], "a b"), undefined);
});
