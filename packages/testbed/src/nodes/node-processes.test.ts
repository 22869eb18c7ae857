import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeOf, withWholeNodes } from "./node-processes.ts";

const all = ["etcd", "kwok", "node-1-namespaces", "node-1-kubelet", "node-10-namespaces", "node-10-kubelet"].map(
  (name) => ({ name, record: { site: "site-2" } }),
);
const selected = (...names: string[]) => all.filter(({ name }) => names.includes(name));

test("a process tells its node", () => {
  assert.deepEqual(all.map(nodeOf).slice(1, 5), [undefined, "site-2-node-1", "site-2-node-1", "site-2-node-10"]);
});

test("the namespaces of a node are not restarted without what is in them, anything else alone", () => {
  const whole = (...names: string[]) => withWholeNodes(selected(...names), all).map(({ name }) => name);
  assert.deepEqual(whole("etcd", "node-1-kubelet"), ["etcd", "node-1-kubelet"]);
  assert.deepEqual(whole("node-1-namespaces", "kwok"), ["kwok", "node-1-namespaces", "node-1-kubelet"]);
});
