import assert from "node:assert/strict";
import { test } from "node:test";
import type { VirtualNode } from "@fjord/api";
import { NodeNews } from "./node-news.ts";

const node = (change: { spec?: object; status?: object; metadata?: object } = {}) =>
  ({
    metadata: { name: "north", resourceVersion: "1", ...change.metadata },
    spec: { contract: "c", tainted: true, ...change.spec },
    status: { address: "10.0.0.1", allocated: { pods: "1" }, ...change.status },
  }) as unknown as VirtualNode;

test("pods hear of their node what they are made of and what ends them, and not what is counted there", () => {
  let known: VirtualNode | undefined = node();
  let isOver = false;
  const site = "north";
  const nodes = { get: (name: string) => known && { name, site, contract: known.spec.contract, object: known } };
  const news = new NodeNews(nodes, () => isOver);
  const isFor = () => news.isForPods("north");
  assert.ok(isFor(), "the first of it");
  known = node({ metadata: { resourceVersion: "2" }, status: { allocated: { pods: "900" }, conditions: [] } });
  assert.ok(!isFor(), "what is counted at a node is nothing to its pods");
  for (const change of [
    { status: { address: "10.0.0.2" } },
    { spec: { podPatch: { metadata: { labels: { by: "node" } } } } },
    { spec: { tainted: false } },
    { spec: { contract: "c2" } },
    { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
  ]) {
    known = node(change);
    assert.ok(isFor(), JSON.stringify(change));
    assert.ok(!isFor(), "once");
  }
  isOver = true;
  assert.ok(isFor(), "that its contract is over");
  known = undefined;
  assert.ok(isFor(), "that it is gone");
  known = node();
  assert.ok(isFor(), "that it is there again");
});
