import assert from "node:assert/strict";
import { it } from "node:test";
import { AddressPlan, EXPORTED_ANNOTATION, newObject } from "@fjord/api";
import { EndpointSlice, type KubeClient, Service } from "@fjord/kube";
import { pathEnds } from "./path-ends.ts";
import type { SiteNetwork } from "./site-network.ts";

const [HARBOR, WAVE] = ["a".repeat(26), "b".repeat(26)];

it("the Service of what this site exports to itself leads guests elsewhere to what stands for it on links, and pods here to the thing", async () => {
  const own = [{ range: "252.0.0.0/20", called: "240.77.0.0/20" }];
  const plans = [newObject(AddressPlan, { metadata: { name: WAVE }, spec: { site: WAVE, own, peer: [] } })];
  const slice = (exported: string) => ({
    metadata: { annotations: { [EXPORTED_ANNOTATION]: exported } },
    endpoints: [{ addresses: ["192.168.7.20"] }],
  });
  const client = {
    get: async (kind: unknown) => {
      assert.equal(kind, Service);
      return { metadata: { name: "db", namespace: "shop" }, spec: { clusterIP: "10.96.0.7" } };
    },
    list: async (kind: unknown) => ({
      items: kind === EndpointSlice ? [slice("252.0.0.7:5432"), slice("[fd66:6a71::7]:5432")] : [],
    }),
  } as unknown as KubeClient;
  const places = { sites: [], virtualNodes: [], contracts: [], peerings: [] };
  const network = {
    client,
    id: HARBOR,
    name: "harbor",
    places,
    plans,
    links: [],
    ranges: [],
  } as unknown as SiteNetwork;
  const from = (site: string) => ({ title: "pod", address: "10.42.0.7", site });
  const { signal } = new AbortController();
  const ends = async (site: string) =>
    (await pathEnds(network, { kind: "Service", name: "db" }, "shop", signal, from(site))).ends;
  assert.deepEqual(
    (await ends(WAVE)).map(({ address, site }) => [address, site]),
    [
      ["252.0.0.7", HARBOR],
      ["fd66:6a71::7", undefined],
    ],
  );
  assert.deepEqual(
    (await ends(HARBOR)).map(({ address }) => address),
    ["192.168.7.20"],
  );
});
