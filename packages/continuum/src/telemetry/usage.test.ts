import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { paged } from "./guest-usage.ts";
import { readSummary } from "./kubelet-summary.ts";
import { NodeCounter } from "./node-counter.ts";
import { checkUsagePage } from "./usage.ts";

const NOW = Date.parse("2030-01-01T12:00:00Z");
const container = { name: "main", at: NOW, started: NOW - 1_000, nanoCores: 5, coreNanoSeconds: 7, workingSetBytes: 9 };
const page = (pods: unknown, more = false) => ({ now: NOW, pods, more });

test("a page of usage arrives as it was sent", () => {
  const said = page([{ namespace: "shop-a1", name: "web", containers: [container] }], true);
  assert.deepEqual(checkUsagePage(said), said);
});

test("what is no page is none", () => {
  for (const value of [undefined, null, 7, "x", [], {}, { pods: [] }, { now: "x", pods: [] }, { now: NOW, pods: {} }])
    assert.equal(checkUsagePage(value), undefined);
});

test("numbers that can be true of nothing are left out, and so are strange names", () => {
  const odd = {
    ...container,
    nanoCores: -1,
    coreNanoSeconds: Number.POSITIVE_INFINITY,
    workingSetBytes: "9",
    rssBytes: 1e300,
  };
  const [pod] = checkUsagePage(page([{ namespace: "a", name: "b", containers: [odd] }]))?.pods ?? [];
  assert.deepEqual(pod?.containers, [{ name: "main", at: NOW, started: NOW - 1_000 }]);
  for (const name of ["../x", "A", "", "a".repeat(300), 7, "a b"])
    assert.deepEqual(checkUsagePage(page([{ namespace: "a", name, containers: [] }]))?.pods, []);
  for (const at of [-1, Number.NaN, 1e20, "now"]) {
    const pods = checkUsagePage(page([{ namespace: "a", name: "b", containers: [{ ...container, at }] }]))?.pods;
    assert.deepEqual(pods?.[0]?.containers, []);
  }
});

test("whatever comes is read without an error", () => {
  fc.assert(
    fc.property(fc.anything(), (anything) => {
      checkUsagePage(anything);
      checkUsagePage(page(anything));
      checkUsagePage(page([{ namespace: "a", name: "b", containers: [anything] }]));
    }),
  );
});

test("pages hold every pod once, in order, and none is too large", () => {
  const pods = fc.array(
    fc.record({ namespace: fc.constant("a"), name: fc.stringMatching(/^[a-z]{1,40}$/), containers: fc.constant([]) }),
  );
  fc.assert(
    fc.property(pods, (all) => {
      const pages = paged(all, 200);
      assert.deepEqual(pages.flat(), all);
      for (const each of pages) assert.ok(each.length === 1 || JSON.stringify(each).length <= 202);
    }),
  );
});

test("a kubelet's summary is read for guests alone", () => {
  const time = "2030-01-01T12:00:00Z";
  const said = {
    pods: [
      {
        podRef: { name: "web", namespace: "shop-a1", uid: "u1" },
        containers: [
          { name: "main", startTime: time, cpu: { time, usageNanoCores: 5 }, memory: { time, workingSetBytes: 9 } },
          { name: "waiting", startTime: time },
        ],
      },
      { podRef: { name: "dns", namespace: "kube-system", uid: "u2" }, containers: [] },
    ],
  };
  const usage = readSummary(said, (key) => key === "shop-a1/web");
  assert.deepEqual([...usage.keys()], ["shop-a1/web"]);
  assert.deepEqual(usage.get("shop-a1/web"), {
    uid: "u1",
    containers: [{ name: "main", at: NOW, started: NOW, nanoCores: 5, workingSetBytes: 9 }],
  });
});

test("the processor time of a node never goes back, whatever containers come, go and begin anew", () => {
  const counter = new NodeCounter(0);
  assert.equal(
    counter.add(
      new Map([
        ["a", 10],
        ["b", 5],
      ]),
    ),
    15,
  );
  assert.equal(counter.add(new Map([["a", 12]])), 17);
  assert.equal(counter.add(new Map([["a", 1]])), 18);
  const uses = fc.array(fc.dictionary(fc.constantFrom("a", "b", "c"), fc.nat(1_000)));
  fc.assert(
    fc.property(uses, (all) => {
      const node = new NodeCounter(0);
      let last = 0;
      for (const each of all) {
        const next = node.add(new Map(Object.entries(each)));
        assert.ok(next >= last);
        last = next;
      }
    }),
  );
});
