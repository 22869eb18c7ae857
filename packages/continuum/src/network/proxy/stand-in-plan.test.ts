import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AddressPlan } from "@fjord/api";
import type { EndpointSlice } from "@fjord/kube";
import { plannedStandIns, stillShared } from "./stand-in-plan.ts";

const plan: AddressPlan["spec"] = {
  site: "wave",
  carrier: "Proxy",
  own: [],
  peer: [{ range: "127.89.0.0/22", called: "127.88.128.0/22" }],
};
const slice = (namespace: string, addresses: number, ports: number): EndpointSlice => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "s", namespace },
  addressType: "IPv4",
  ports: Array.from({ length: ports }, (_, index) => ({ port: 8000 + index })),
  endpoints: Array.from({ length: addresses }, (_, index) => ({ addresses: [`127.88.128.${index}`] })),
});
const both = new Set(["greedy", "shop"]);

describe("stand-ins", () => {
  it("are there for everybody, however many endpoints a namespace has, and who has none is said", () => {
    const slices = [slice("greedy", 200, 100), slice("shop", 5, 1)];
    const { standIns, missing } = plannedStandIns(plan, slices, both, 100);
    const of = (namespace: string) => standIns.filter((each) => each.namespace === namespace).length;
    assert.deepEqual([of("greedy"), of("shop")], [95, 5]);
    assert.deepEqual([...missing.keys()], ["greedy"]);
    assert.deepEqual(
      standIns.find(({ namespace }) => namespace === "shop"),
      { protocol: "TCP", address: "127.88.128.0", port: 8000, namespace: "shop", site: "wave", meant: "127.89.0.0" },
    );
    assert.equal(plannedStandIns(plan, slices.slice(1), both, 100).missing.size, 0);
    assert.equal(plannedStandIns({ ...plan, carrier: "Gateway" } as never, slices, both).standIns.length, 0);
  });

  it("are still shared while a Service has them and they mean the same, though nobody listens for them", () => {
    const slices = [slice("shop", 5, 1)];
    const { standIns } = plannedStandIns(plan, slices, both);
    assert.equal(stillShared(standIns, plan, slices, both).size, 5);
    assert.equal(stillShared(standIns, plan, [slice("shop", 2, 1)], both).size, 2);
    assert.equal(stillShared(standIns, plan, slices, new Set(["greedy"])).size, 0);
    assert.equal(stillShared(standIns, undefined, slices, both).size, 0);
    const moved = { ...plan, peer: [{ range: "127.90.0.0/22", called: "127.88.128.0/22" }] };
    assert.equal(stillShared(standIns, moved, slices, both).size, 0);
  });
});
