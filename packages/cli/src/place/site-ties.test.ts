import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contract, Peering, Site } from "@fjord/api";
import { endsTheLast, otherTies, usedBy } from "./site-ties.ts";

const site = { metadata: { name: "wave" }, spec: {}, status: { id: "w" } } as Site;
const peering = (name: string, more: object = {}, of = "wave") =>
  ({ metadata: { name, ...more }, spec: { site: of } }) as Peering;
const contract = (name: string, consumer: string, phase = "Active") =>
  ({ metadata: { name }, spec: { terms: { consumer, provider: "p" } }, status: { phase } }) as Contract;
const third = peering("third");

test("a site that is forgotten with one peering would take its other peerings along", () => {
  const all = [third, peering("wave"), peering("fourth"), peering("elsewhere", {}, "otter")];
  assert.equal(otherTies(site, [third], all, []), "peerings wave, fourth");
  assert.equal(otherTies(site, [third], [third, peering("wave")], []), "peering wave");
  assert.equal(otherTies(site, all, all, []), undefined);
});

test("what is ending already stands in nobody's way", () => {
  const ending = peering("second", { deletionTimestamp: "2030-01-01T00:00:00Z" });
  assert.equal(otherTies(site, [third], [third, ending], []), undefined);
});

test("the last peering with a site is that beside which none is left but those that are ending", () => {
  const going = peering("second", { deletionTimestamp: "2030-01-01T00:00:00Z" });
  const elsewhere = peering("elsewhere", {}, "otter");
  assert.equal(endsTheLast("wave", [third], [third, peering("wave"), elsewhere]), false);
  assert.equal(endsTheLast("wave", [third], [third, elsewhere]), true);
  assert.equal(endsTheLast("wave", [third], [third, going]), true);
  assert.equal(endsTheLast("wave", [third, going], [third, going]), true);
  assert.equal(endsTheLast("wave", [going], [going]), false, "it was granted already");
  assert.equal(endsTheLast("wave", [going], [third, going]), false);
  assert.equal(endsTheLast("wave", [], []), false);
});

test("what the site uses here would go too", () => {
  const contracts = [contract("c-1", "w"), contract("c-2", "w", "Ended"), contract("c-3", "me")];
  assert.deepEqual(usedBy(site, contracts), ["c-1"]);
  assert.equal(otherTies(site, [third], [third], contracts), "what it uses here, by c-1");
  const both = otherTies(site, [third], [third, peering("wave")], contracts);
  assert.equal(both, "peering wave, and what it uses here, by c-1");
  assert.deepEqual(usedBy({ metadata: {}, spec: {} } as Site, contracts), []);
});
