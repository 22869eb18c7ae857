import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LinkView, SiteView } from "@fjord/agent/page-model";
import fc from "fast-check";
import { type Box, layoutGraph } from "./graph-layout.ts";

const site = (name: string, tier?: SiteView["tier"]) =>
  ({ name, role: name === "harbor" ? "self" : "peer", ...(tier && { tier }) }) as SiteView;
const link = (consumer: string, provider: string, state: LinkView["state"] = "open") =>
  ({ consumer, provider, state, resources: { cpu: 4000 } }) as unknown as LinkView;
const SITES = [
  site("harbor", "cloud"),
  site("wave", "edge"),
  site("wood", "edge"),
  site("buoy", "device"),
  site("isle"),
];

describe("on a wide page", () => {
  const layout = layoutGraph(
    { sites: SITES, links: { a: link("harbor", "wave"), b: link("wave", "harbor") }, self: "harbor" },
    1100,
  );

  it("there is a band for each tier that has sites, cloud on top", () => {
    assert.deepEqual(
      layout.bands.map(({ tier }) => tier),
      ["cloud", "edge", "device", "other"],
    );
    const ys = layout.bands.map(({ y }) => y);
    assert.deepEqual(
      ys,
      ys.toSorted((a, b) => a - b),
    );
  });

  it("every link has a line, both directions side by side, and peers without one a faint one", () => {
    assert.deepEqual(layout.curves.map(({ to, state }) => `${to} ${state}`).sort(), [
      "buoy known",
      "isle known",
      "wave open",
      "wave open",
      "wood known",
    ]);
    const [one, other] = layout.curves.filter(({ to }) => to === "wave");
    assert.notEqual(one?.path, other?.path);
    assert.deepEqual([one?.words, other?.words], ["⇅ 4 cpu", ""]);
  });

  it("a broken link says so", () => {
    const { curves } = layoutGraph(
      { sites: SITES, links: { a: link("harbor", "wood", "broken") }, self: "harbor" },
      1100,
    );
    assert.equal(curves.find(({ to }) => to === "wood")?.words, "✕ no answer");
  });

  it("sites of the own tier are linked below the cards", () => {
    const sites = [site("harbor", "edge"), site("wave", "edge")];
    const { curves, boxes } = layoutGraph({ sites, links: {}, self: "harbor" }, 1100);
    assert.equal(boxes.get("harbor")?.y, boxes.get("wave")?.y);
    assert.ok((curves[0]?.middle.y ?? 0) > (boxes.get("wave")?.y ?? 0) + (boxes.get("wave")?.height ?? 0));
  });
});

it("on a narrow page everything is one column, the own site first", () => {
  const { mode, boxes, bands } = layoutGraph({ sites: SITES, links: {}, self: "harbor" }, 360);
  assert.equal(mode, "tree");
  assert.deepEqual([...boxes.keys()], ["harbor", "wave", "wood", "buoy", "isle"]);
  assert.deepEqual(bands, []);
});

it("no site is no graph", () => {
  assert.deepEqual(layoutGraph({ sites: [], links: {}, self: "" }, 900).curves, []);
});

it("cards never overlap and never leave the page, however many there are", () => {
  const tiers = fc.constantFrom<SiteView["tier"]>("cloud", "edge", "device", undefined);
  fc.assert(
    fc.property(fc.array(tiers, { minLength: 1, maxLength: 60 }), fc.integer({ min: 300, max: 2000 }), (all, width) => {
      const sites = all.map((tier, index) => site(index === 0 ? "harbor" : `site-${index}`, tier));
      const { boxes, height } = layoutGraph({ sites, links: {}, self: "harbor" }, width);
      assert.equal(boxes.size, sites.length);
      const placed = [...boxes.values()];
      for (const box of placed) assert.ok(box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height);
      for (const [index, a] of placed.entries()) for (const b of placed.slice(index + 1)) assert.ok(!overlap(a, b));
    }),
  );
});

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
