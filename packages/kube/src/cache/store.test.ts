import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import fc from "fast-check";
import { byLabel, byNamespace, byNode, byOwner } from "./indexers.ts";
import { keyTextOf, Store } from "./store.ts";

const name = fc.constantFrom("a", "b", "c");
const object: fc.Arbitrary<KubeObject & { spec: { nodeName?: string } }> = fc
  .record({
    name,
    namespace: fc.constantFrom("one", "two", undefined),
    tier: fc.constantFrom("edge", "cloud", undefined),
    owners: fc.uniqueArray(fc.constantFrom("u1", "u2", "u3")),
    nodeName: fc.constantFrom("n1", "n2", undefined),
  })
  .map(({ name, namespace, tier, owners, nodeName }) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      ...(tier && { labels: { tier } }),
      ownerReferences: owners.map((uid) => ({ apiVersion: "v1", kind: "Node", name: "x", uid })),
    },
    spec: { nodeName },
  }));

test("an index holds exactly the objects that its function gives the value for", () => {
  const indexers = { namespace: byNamespace, tier: byLabel("tier"), owner: byOwner, node: byNode };
  const steps = fc.array(fc.record({ object, remove: fc.boolean() }), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (steps) => {
      const store = new Store(indexers);
      const model = new Map<string, KubeObject>();
      for (const { object, remove } of steps) {
        const key = keyTextOf(object);
        if (remove) {
          store.delete(key);
          model.delete(key);
        } else {
          store.set(key, object);
          model.set(key, object);
        }
      }
      assert.deepEqual(new Set(store.list()), new Set(model.values()));
      for (const [index, indexer] of Object.entries(indexers)) {
        for (const value of ["one", "two", "edge", "cloud", "u1", "u2", "u3", "n1", "n2"]) {
          const expected = [...model.values()].filter((object) => indexer(object).includes(value));
          assert.deepEqual(new Set(store.byIndex(index, value)), new Set(expected));
        }
      }
    }),
  );
});
