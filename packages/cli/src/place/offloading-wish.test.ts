import assert from "node:assert/strict";
import { test } from "node:test";
import type { Offloading } from "@fjord/api";
import { changeOf, firstSpec, type OffloadingFlags } from "./offloading-wish.ts";

const flags = (more: Partial<OffloadingFlags> = {}): OffloadingFlags => ({ selector: [], ...more });
const before: Offloading["spec"] = {
  pods: "Remote",
  naming: { strategy: "Chosen", name: "guests" },
  sites: { matchLabels: { tier: "edge", zone: "a" }, matchExpressions: [{ key: "gpu", operator: "Exists" }] },
  whenUnreachable: { action: "Evict", after: "30s" },
} as Offloading["spec"];
const change = (more: Partial<OffloadingFlags>) => changeOf(flags(more), before, "shop");

test("the first time, what is left out is as usual", () => {
  assert.deepEqual(firstSpec(flags()), {
    pods: "Both",
    naming: { strategy: "Suffixed" },
    sites: {},
    whenUnreachable: { action: "Evict" },
  });
  const said = { pods: "Local", naming: "Chosen", twinName: "guests", selector: ["tier=edge", "zone="] } as const;
  assert.deepEqual(firstSpec({ ...said, whenUnreachable: "Evict=1m30s" }), {
    pods: "Local",
    naming: { strategy: "Chosen", name: "guests" },
    sites: { matchLabels: { tier: "edge", zone: "" } },
    whenUnreachable: { action: "Evict", after: "1m30s" },
  });
});

test("again, what is not named stays as it was", () => {
  assert.deepEqual(change({}), {});
  assert.deepEqual(change({ pods: "Both" }), { pods: "Both" });
  assert.deepEqual(change({ naming: "Chosen", twinName: "guests" }), {}, "the same name is no change");
  assert.deepEqual(change({ naming: "Chosen" }), {});
});

test("again, what is named takes the place of what was said of it before", () => {
  assert.deepEqual(change({ selector: ["zone=b"] }), { sites: { matchLabels: { tier: null, zone: "b" } } });
  assert.deepEqual(change({ selector: ["none"] }), { sites: { matchLabels: null, matchExpressions: null } });
  assert.deepEqual(change({ whenUnreachable: "Keep" }), { whenUnreachable: { action: "Keep", after: null } });
  assert.deepEqual(change({ whenUnreachable: "Evict=5s" }), { whenUnreachable: { action: "Evict", after: "5s" } });
});

test("another name for twins that have one is refused, with what would have to be done", () => {
  for (const more of [{ naming: "Same" }, { naming: "Chosen", twinName: "others" }, { twinName: "others" }] as const)
    assert.throws(() => change(more), /\(Chosen, guests\), which stays: `fjord unoffload shop` first/);
});

test("what makes no sense is refused in words, before anything is asked for", () => {
  const wrong: [Partial<OffloadingFlags>, RegExp][] = [
    [{ naming: "Chosen" }, /--naming cannot be Chosen: say the name too, by --twin-name=NAME/],
    [{ twinName: "foo" }, /--twin-name cannot be foo: it goes with --naming=Chosen/],
    [{ naming: "Same", twinName: "foo" }, /--twin-name cannot be foo: it goes with --naming=Chosen/],
    [{ naming: "Chosen", twinName: "Foo_Bar" }, /--twin-name cannot be Foo_Bar: it must be the name of a namespace/],
    ...["Evict=30", "Evict=", "Evict=0s", "Evict=10ms", "Evict=1d", "Keep=30s", "Never", "Evict=1s=2s"].map(
      (whenUnreachable): [Partial<OffloadingFlags>, RegExp] => [
        { whenUnreachable },
        /--when-unreachable cannot be .*: it must be Keep, Evict or Evict=30s/,
      ],
    ),
    ...["tier", "=edge", "a b=c", "tier=a b", "tier=a=b"].map((text): [Partial<OffloadingFlags>, RegExp] => [
      { selector: [text] },
      /--selector cannot be .*: it must be label=value, or none/,
    ]),
  ];
  for (const [more, words] of wrong) assert.throws(() => firstSpec(flags(more)), words);
});
