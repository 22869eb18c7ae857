import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { changesBetween, withChanges } from "./changes.ts";
import { pictureOf } from "./picture.ts";
import type { Snapshot } from "./snapshot.ts";
import * as t from "./test-world.ts";
import { snapshotFor } from "./visible.ts";

const rights = { sites: true, peerings: true, contracts: true, nodes: true, pods: () => true, events: () => true };
const seen = (more: Parameters<typeof t.world>[0] = {}): Snapshot =>
  snapshotFor(pictureOf(t.world(more)), { user: "ann", actions: true, demo: false }, rights, {
    workload: "shop/Deployment/web",
  });

describe("changes", () => {
  it("are none where nothing changed", () => {
    assert.equal(changesBetween(seen(), seen()), undefined);
  });

  it("name only what changed", () => {
    const before = seen({ pods: [t.webPod("a", { node: "own-1" })] });
    const sites = [
      t.site("harbor", t.HARBOR, { tier: "cloud", role: "Self" }),
      t.site("wave", t.WAVE, { reachable: false }),
      t.site("wood", t.WOOD),
    ];
    const after = seen({ sites, pods: [t.webPod("a", { node: "own-1" })] });
    const changes = changesBetween(before, after);
    assert.deepEqual(Object.keys(changes ?? {}), ["sites", "links"]);
    assert.deepEqual(Object.keys(changes?.sites ?? {}), ["wave"]);
  });

  it("one more pod among thousands is a small message", () => {
    const many = Array.from({ length: 3_000 }, (_, i) =>
      t.pod(`p-${i}`, { node: "own-1", owner: { kind: "StatefulSet", name: `s${i % 300}` } }),
    );
    const before = seen({ pods: many });
    const changes = changesBetween(
      before,
      seen({ pods: [...many, t.pod("one-more", { node: "own-1", owner: { kind: "StatefulSet", name: "s1" } })] }),
    );
    assert.ok(JSON.stringify(changes).length < 3_000);
    assert.ok(JSON.stringify(before).length > 50_000);
  });

  it("put into the snapshot before give the one after, whatever they are", () => {
    const worlds = fc.record({
      nodes: fc.subarray(["own-1", "own-2", "wave"]).map((names) => names.map((name) => t.node(name))),
      pods: fc
        .array(fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.constantFrom("own-1", "wave", undefined)), {
          maxLength: 6,
        })
        .map((all) => [
          ...new Map(all.map(([end, node]) => [end, t.webPod(end, node === undefined ? {} : { node })])).values(),
        ]),
      workloads: fc.subarray(["web", "api"]).map((names) => names.map((name) => t.deployment(name, 2))),
    });
    fc.assert(
      fc.property(worlds, worlds, (first, second) => {
        const [before, after] = [seen(first), seen(second)];
        const changes = changesBetween(before, after);
        const sent = changes === undefined ? {} : JSON.parse(JSON.stringify(changes));
        assert.deepEqual(withChanges(before, sent), after);
      }),
      { numRuns: 200 },
    );
  });
});
