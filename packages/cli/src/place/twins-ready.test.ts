import assert from "node:assert/strict";
import { test } from "node:test";
import type { Offloading, Peering, Site } from "@fjord/api";
import { twinsMessage, twinsReady } from "./twins-ready.ts";

const site = (name: string, reachable: "True" | "False"): Site =>
  ({
    metadata: { name },
    spec: {},
    status: { id: `id-${name}`, conditions: [{ type: "Reachable", status: reachable }] },
  }) as unknown as Site;
const places = { sites: [site("wave", "True"), site("wood", "True"), site("reef", "False"), site("rock", "False")] };

/** An Offloading whose twins are as the reasons say, by site. */
function offloading(reasons: Record<string, string>, status = "False", observedGeneration = 2): Offloading {
  const sites = Object.entries(reasons).map(([name, reason]) => ({
    site: `id-${name}`,
    conditions: [{ type: "Ready", status: reason === "TwinReady" ? "True" : "False", reason, message: "so it is" }],
  }));
  const conditions = [{ type: "Ready", status, reason: "SomeTwinsNotReady", message: "some", observedGeneration }];
  return { metadata: { generation: 2 }, spec: {}, status: { sites, conditions } } as unknown as Offloading;
}

/** A peering that is as far as the reasons say, told of the second thing that was asked of it. */
const peering = (reasons: Record<string, string>, observedGeneration = 2) => {
  const conditions = Object.entries(reasons).map(([type, reason]) => ({
    ...{ type, reason, message: "", observedGeneration },
    status: type === "Realised" ? "True" : "False",
  }));
  return { metadata: { generation: 2 }, spec: {}, status: { conditions } } as unknown as Peering;
};

test("twins are ready when every site that answers has its own, and the silent ones are named", () => {
  const { done, silent } = twinsReady(
    offloading({ wave: "TwinReady", rock: "SiteUnreachable", reef: "SiteUnreachable" }),
    places,
  );
  assert.deepEqual([done, silent], [true, ["reef", "rock"]]);
  assert.deepEqual(twinsReady(offloading({ wave: "TwinReady" }, "True"), places).silent, []);
});

test("nobody is waited for where no site answers, or there is none to extend to", () => {
  const away = twinsReady(offloading({ reef: "SiteUnreachable", rock: "SiteUnreachable" }), places);
  assert.deepEqual([away.done, away.silent], [true, ["reef", "rock"]]);
  const none = offloading({});
  const condition = { ...none.status?.conditions?.[0], reason: "NoSiteEligible", message: "no peering is ready" };
  const lonely = { ...none, status: { conditions: [condition] } } as Offloading;
  const nowhere = twinsReady(lonely, { ...places, peerings: [] });
  assert.deepEqual([nowhere.done, nowhere.nowhere], [true, "no peering is ready"]);
  assert.equal(twinsReady(lonely, { ...places, peerings: [peering({})] }).done, false, "it may be ready soon");
  const settled = [
    peering({ Realised: "NodeMade" }),
    peering({ Agreed: "ContractEnded" }),
    peering({ Agreed: "NotSharing" }),
  ];
  assert.equal(twinsReady(lonely, { ...places, peerings: settled }).nowhere, "no peering is ready");
  const under = [...settled, peering({ Agreed: "ContractEnded" }, 1)];
  assert.equal(twinsReady(lonely, { ...places, peerings: under }).done, false, "it was asked for again");
  assert.equal(twinsReady(lonely, places).done, false, "who may not see peerings waits");
});

test("a site that answers and has none is waited for, and so is the first twin of all", () => {
  const mixed = twinsReady(offloading({ wave: "TwinReady", wood: "AwaitingTwin", reef: "SiteUnreachable" }), places);
  assert.equal(mixed.done, false);
  assert.equal(mixed.progress, "wood: AwaitingTwin: so it is; reef: SiteUnreachable: so it is");
  assert.equal(twinsReady(offloading({}), places).done, false);
  const justMet = twinsReady(offloading({ wave: "TwinReady", wood: "SiteUnreachable" }), places);
  assert.equal(justMet.done, false, "the site itself is known to answer");
});

test("what the agent said of an earlier wish counts for nothing", () => {
  const { done, progress } = twinsReady(offloading({ wave: "TwinReady" }, "True", 1), places);
  assert.deepEqual([done, progress], [false, "waiting for the agent"]);
});

test("a name that a site does not give is told as such", () => {
  for (const reason of ["NameTaken", "NameRefused"])
    assert.equal(twinsReady(offloading({ wave: "TwinReady", wood: reason }), places).isNameRefused, true);
  assert.equal(twinsReady(offloading({ wood: "TwinRefused" }), places).isNameRefused, false);
});

test("the status names the site that keeps a namespace from being ready, and why", () => {
  const message = (reasons: Record<string, string>, status?: string) =>
    twinsMessage(offloading(reasons, status), places);
  assert.equal(message({ wave: "TwinReady", wood: "NameTaken" }), "wood: NameTaken: so it is");
  assert.equal(message({ wave: "TwinReady" }, "True"), "some", "the agent's own words");
  assert.equal(twinsMessage({ metadata: {}, spec: {} } as Offloading, places), "");
});
