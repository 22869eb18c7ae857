import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, type Contract, newObject, type Site, type VirtualNode } from "@fjord/api";
import { testPlaces } from "./trial-places.ts";

const [OWN, WAVE, WOOD] = ["a", "b", "c"].map((letter) => letter.repeat(26)) as [string, string, string];
const plan = (site: string, carrier?: "Proxy") =>
  newObject(AddressPlan, { metadata: { name: site }, spec: { site, own: [], peer: [], ...(carrier && { carrier }) } });
const site = (name: string, id: string) => ({ metadata: { name }, spec: {}, status: { id } }) as unknown as Site;
const node = (name: string, provider: string) =>
  ({ metadata: { name }, spec: { contract: `c-${name}` }, status: { provider } }) as unknown as VirtualNode;
const contract = (name: string, resources: Record<string, string>, enforcement: string) =>
  ({ metadata: { name: `c-${name}` }, spec: { terms: { resources, enforcement } } }) as unknown as Contract;
const sites = [site("harbor", OWN), site("wave", WAVE), site("wood", WOOD)];
const own = (virtualNodes: VirtualNode[], contracts: Contract[] = [], all: Site[] = sites) => ({
  id: OWN,
  name: "harbor",
  places: { sites: all, virtualNodes, contracts, peerings: [] },
  nameOf: (id: string) => all.find(({ status }) => status?.id === id)?.metadata.name,
});

describe("where pods of a test are to be", () => {
  it("is here and at each provider, and it is told of a peer that has no contract with this site", () => {
    const { places, lacks } = testPlaces(
      own([node("wave", WAVE)], [contract("wave", { cpu: "1", memory: "1Gi", pods: "9" }, "None")]),
      [plan(WAVE), plan(WOOD)],
      true,
    );
    assert.deepEqual(
      places.map(({ name, place }) => [name, place]),
      [
        ["at-harbor", "home"],
        ["at-wave", { site: WAVE }],
      ],
    );
    assert.deepEqual([...lacks.keys()], [WOOD]);
    assert.match(lacks.get(WOOD) ?? "", /harbor has no contract with wood.*test it from there/);
  });

  it("is not here where this site has no nodes", () => {
    const { places, lacks } = testPlaces(
      own([node("wave", WAVE)], [contract("wave", { cpu: "1" }, "None")]),
      [plan(WAVE)],
      false,
    );
    assert.deepEqual(
      places.map(({ name }) => name),
      ["at-wave"],
    );
    assert.match(lacks.get(OWN) ?? "", /no nodes of its own/);
  });

  it("states what each contract has pods state, and no more", () => {
    const resourcesWith = (resources: Record<string, string>, enforcement: string) =>
      testPlaces(own([node("wave", WAVE)], [contract("wave", resources, enforcement)]), [plan(WAVE)], true).places[1]
        ?.resources;
    const all = { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi", pods: "9", "nvidia.com/gpu": "1" };
    assert.deepEqual(Object.keys(resourcesWith(all, "RequestsStated")?.requests ?? {}), [
      "cpu",
      "memory",
      "ephemeral-storage",
    ]);
    assert.deepEqual(
      Object.keys(resourcesWith({ cpu: "1" }, "None")?.requests ?? {}),
      ["cpu"],
      "a node has no other amounts",
    );
    assert.equal(resourcesWith(all, "RequestsStated")?.limits, undefined);
    const strict = resourcesWith(all, "LimitsEqualRequests");
    assert.deepEqual(strict?.limits, strict?.requests);
  });

  it("has pods that are processes where agents carry, here too", () => {
    const facts = own(
      [node("wave", WAVE), node("wood", WOOD)],
      [contract("wave", {}, "None"), contract("wood", {}, "None")],
    );
    const { places } = testPlaces(facts, [plan(WAVE, "Proxy"), plan(WOOD)], true);
    assert.deepEqual(
      places.map(({ isProcess }) => isProcess),
      [true, true, false],
    );
  });

  it("has names that a Service may have, one for each", () => {
    const all = [site("harbor", OWN), site("Wave.One", WAVE), site("wave-one", WOOD)];
    const facts = own(
      [node("wave", WAVE), node("wood", WOOD)],
      [contract("wave", {}, "None"), contract("wood", {}, "None")],
      all,
    );
    const names = testPlaces(facts, [plan(WAVE), plan(WOOD)], true).places.map(({ name }) => name);
    assert.deepEqual(names, ["at-harbor", "at-wave-one", "at-wave-one-2"]);
  });
});
