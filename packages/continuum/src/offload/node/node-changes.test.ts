import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LABELS_ANNOTATION, notesOf } from "./given-labels.ts";
import { CORDONED_ANNOTATION, cordonOf, nodePatch, type WantedNode } from "./node-changes.ts";
import { contractOf, nodeOf } from "./test-objects.ts";

const taint = { key: "fjord.dev/virtual-node", value: "true", effect: "NoSchedule" } as const;
const drained = { key: "fjord.dev/drained", value: "true", effect: "NoSchedule" } as const;
const wantedOf = (more: Partial<WantedNode> = {}): WantedNode => ({
  labels: { own: { site: "x" }, published: {} },
  taints: [taint],
  cordon: undefined,
  ...more,
});
const settled = (metadata: { labels?: object; annotations?: object } = {}, spec: object = {}) =>
  nodeOf(
    {
      labels: { site: "x", ...metadata.labels },
      annotations: { ...notesOf({ site: "x" }), ...metadata.annotations },
    },
    { taints: [taint], ...spec },
  );

test("nothing is written where nothing is to change", () => {
  assert.equal(nodePatch(settled(), wantedOf()), undefined);
  assert.equal(nodePatch(settled({ labels: { theirs: "1" } }), wantedOf()), undefined);
});

test("labels come, change and go with what the provider says", () => {
  const labels = { own: { site: "x" }, published: { rack: "7" } };
  assert.deepEqual(nodePatch(settled(), wantedOf({ labels })), {
    metadata: { labels: { rack: "7" }, annotations: notesOf({ rack: "7", site: "x" }) },
  });
  const before = settled({ labels: { rack: "6" }, annotations: notesOf({ rack: "7", site: "x" }) });
  assert.deepEqual(nodePatch(before, wantedOf({ labels })), { metadata: { labels: { rack: "7" } } });
  assert.deepEqual(nodePatch(before, wantedOf()), {
    metadata: { labels: { rack: null }, annotations: notesOf({ site: "x" }) },
  });
});

test("labels that somebody put on the Node stay, and go before what the provider says", () => {
  const labels = { own: { site: "x" }, published: { rack: "theirs" } };
  assert.equal(nodePatch(settled({ labels: { rack: "mine" } }), wantedOf({ labels })), undefined);
  assert.equal(nodePatch(settled({ labels: { rack: "mine" } }), wantedOf()), undefined);
});

test("labels that decide about pods are set again where somebody changed them", () => {
  assert.deepEqual(nodePatch(settled({ labels: { site: "y" } }), wantedOf()), { metadata: { labels: { site: "x" } } });
});

test("labels stay while nothing is known of the provider", () => {
  const { labels: _, ...unknown } = wantedOf();
  assert.equal(nodePatch(settled({ annotations: { [LABELS_ANNOTATION]: "rack,site" } }), unknown), undefined);
});

test("a cordon is put on with its reason, and taken back", () => {
  assert.deepEqual(nodePatch(settled(), wantedOf({ cordon: "ContractCordoned" })), {
    metadata: { annotations: { [CORDONED_ANNOTATION]: "ContractCordoned" } },
    spec: { unschedulable: true },
  });
  const cordoned = settled({ annotations: { [CORDONED_ANNOTATION]: "ContractCordoned" } }, { unschedulable: true });
  assert.equal(nodePatch(cordoned, wantedOf({ cordon: "ContractCordoned" })), undefined);
  assert.deepEqual(nodePatch(cordoned, wantedOf({ cordon: "ContractDrained" })), {
    metadata: { annotations: { [CORDONED_ANNOTATION]: "ContractDrained" }, resourceVersion: "7" },
    spec: { taints: [taint, drained] },
  });
  assert.deepEqual(nodePatch(cordoned, wantedOf()), {
    metadata: { annotations: { [CORDONED_ANNOTATION]: null } },
    spec: { unschedulable: null },
  });
});

test("a node that its owner cordoned stays so, whatever becomes of the contract", () => {
  const theirs = settled({}, { unschedulable: true });
  assert.equal(nodePatch(theirs, wantedOf({ cordon: "ContractCordoned" })), undefined);
  assert.equal(nodePatch(theirs, wantedOf()), undefined);
});

test("uncordoning the node does not open a contract that is cordoned", () => {
  const uncordoned = settled({ annotations: { [CORDONED_ANNOTATION]: "ContractCordoned" } });
  assert.deepEqual(nodePatch(uncordoned, wantedOf({ cordon: "ContractCordoned" })), {
    metadata: {},
    spec: { unschedulable: true },
  });
});

test("taints that are missing are added to those of others, unless they change meanwhile", () => {
  const others = [{ key: "example.com/x", effect: "NoSchedule" }];
  assert.deepEqual(nodePatch(settled({}, { taints: others }), wantedOf()), {
    metadata: { resourceVersion: "7" },
    spec: { taints: [...others, taint] },
  });
});

test("a node that is to be empty has a taint for pods that no cordon keeps away, and loses it when it takes pods again", () => {
  for (const cordon of ["ContractDrained", "ContractEnded", "Deleting"] as const) {
    const closed = { annotations: { [CORDONED_ANNOTATION]: cordon } };
    const empty = settled(closed, { unschedulable: true, taints: [taint, drained] });
    assert.deepEqual(nodePatch(settled(), wantedOf({ cordon })), {
      metadata: { ...closed, resourceVersion: "7" },
      spec: { unschedulable: true, taints: [taint, drained] },
    });
    assert.equal(nodePatch(empty, wantedOf({ cordon })), undefined);
    assert.deepEqual(nodePatch(empty, wantedOf()), {
      metadata: { annotations: { [CORDONED_ANNOTATION]: null }, resourceVersion: "7" },
      spec: { unschedulable: null, taints: [taint] },
    });
    assert.equal(nodePatch(empty, wantedOf({ cordon, taints: [taint, drained] })), undefined);
  }
  const theirs = settled({}, { unschedulable: true });
  const patch = nodePatch(theirs, wantedOf({ cordon: "ContractDrained" }));
  assert.deepEqual(patch, { metadata: { resourceVersion: "7" }, spec: { taints: [taint, drained] } });
});

test("either owner can cordon and drain, and the stricter one is heard", () => {
  const standing = (own: "Open" | "Cordoned" | "Drained", peer?: string) => {
    const contract = contractOf(peer === undefined ? {} : { peerStanding: peer });
    return cordonOf({ ...contract, spec: { ...contract.spec, standing: own } }, false);
  };
  assert.equal(standing("Open"), undefined);
  assert.equal(standing("Cordoned"), "ContractCordoned");
  assert.equal(standing("Open", "Cordoned"), "ContractCordoned");
  assert.equal(standing("Cordoned", "Drained"), "ContractDrained");
  assert.equal(standing("Drained", "Open"), "ContractDrained");
  const ended = (reason: string) => contractOf({ conditions: [{ type: "Ended", status: "True", reason }] });
  assert.equal(cordonOf(ended("Revoked"), false), "ContractEnded");
  // Another one takes its place, or is asked for.
  for (const reason of ["Superseded", "Expired"]) assert.equal(cordonOf(ended(reason), false), undefined);
  assert.equal(cordonOf(undefined, false), undefined);
  assert.equal(cordonOf(contractOf(), true), "Deleting");
});

test("a patch settles the Node in one step, and leaves everything of others", () => {
  const names = fc.constantFrom("a", "b", "c", "d", "e");
  const labels = fc.dictionary(names, fc.constantFrom("1", "2"));
  const wish = fc.record({ own: labels, published: labels });
  const cordon = fc.constantFrom(undefined, "ContractCordoned", "ContractDrained") as fc.Arbitrary<
    WantedNode["cordon"]
  >;
  fc.assert(
    fc.property(
      labels,
      fc.boolean(),
      fc.array(fc.tuple(wish, cordon), { maxLength: 5 }),
      (theirs, theirCordon, wishes) => {
        let node = nodeOf({ labels: theirs }, theirCordon ? { unschedulable: true } : {});
        const ours = new Set<string>();
        for (const [labels, cordon] of wishes) {
          const wanted = { labels, taints: [], cordon };
          for (const key of Object.keys(labels.own)) ours.add(key);
          node = merged(node, nodePatch(node, wanted));
          assert.equal(nodePatch(node, wanted), undefined);
          for (const [key, value] of Object.entries(labels.own)) assert.equal(node.metadata.labels?.[key], value);
          for (const [key, value] of Object.entries(theirs))
            if (!ours.has(key)) assert.equal(node.metadata.labels?.[key], value);
          assert.equal(node.spec?.unschedulable === true, theirCordon || cordon !== undefined);
        }
      },
    ),
  );
});

/** What a JSON merge patch makes of an object. */
function merged<T>(target: T, patch: unknown): T {
  if (patch === undefined) return target;
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch as T;
  const result: Record<string, unknown> = { ...(target as Record<string, unknown>) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result as T;
}
