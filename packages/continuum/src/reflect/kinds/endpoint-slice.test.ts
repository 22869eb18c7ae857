import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EndpointSlice } from "@fjord/kube";
import { endpointSlices } from "./endpoint-slice.ts";
import { contextOf } from "./test-context.ts";

type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];

const sliceOf = (...endpoints: Endpoint[]): EndpointSlice => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
  addressType: "IPv4",
  ports: [{ name: "http", port: 80 }],
  endpoints,
});
const endpointsOf = (endpoints: Endpoint[], changes = {}) =>
  endpointSlices.forge(sliceOf(...endpoints), contextOf(changes))?.endpoints as Endpoint[] | undefined;

describe("the twin of an EndpointSlice", () => {
  it("tells of pods elsewhere, and not of the site's own guests", () => {
    const home = { addresses: ["10.1.0.1"], nodeName: "my-node" };
    const guest = { addresses: ["10.2.0.1"], nodeName: "wave" };
    const third = { addresses: ["10.3.0.1"], nodeName: "other-wave" };
    assert.deepEqual(
      endpointsOf([home, guest, third])?.map(({ addresses }) => addresses[0]),
      ["10.1.0.1", "10.3.0.1"],
    );
  });

  it("does not exist where nothing is left to tell", () => {
    const named = { ...sliceOf({ addresses: ["db.example.com"] }), addressType: "FQDN" as const };
    assert.equal(endpointSlices.forge(named, contextOf()), undefined);
    assert.equal(endpointsOf([]), undefined);
    assert.equal(endpointsOf([{ addresses: ["10.2.0.1"], nodeName: "wave" }]), undefined);
  });

  it("tells of what serves, ready or not, and of nothing else", () => {
    const addresses = ["10.1.0.1"];
    assert.equal(endpointsOf([{ addresses, conditions: { ready: false, serving: false } }]), undefined);
    assert.equal(endpointsOf([{ addresses, conditions: { ready: false } }]), undefined);
    assert.equal(
      endpointsOf([{ addresses, conditions: { ready: false, serving: true, terminating: true } }])?.length,
      1,
    );
    assert.equal(endpointsOf([{ addresses, conditions: { ready: true, serving: false } }])?.length, 1);
    assert.equal(endpointsOf([{ addresses }])?.length, 1);
  });

  it("names no node, zone or pod of the own cluster, but the host", () => {
    const endpoint = {
      addresses: ["10.1.0.1"],
      nodeName: "my-node",
      zone: "my-zone",
      hostname: "web-0",
      hints: { forZones: [{ name: "my-zone" }] },
      targetRef: { kind: "Pod", name: "web-0", namespace: "shop", uid: "1" },
      conditions: { ready: true },
    };
    assert.deepEqual(endpointsOf([endpoint]), [
      { addresses: ["10.1.0.1"], conditions: { ready: true }, hostname: "web-0" },
    ]);
  });

  it("has the addresses by which the site reaches the pods, and only those", () => {
    const translateAddress = (address: string) => (address === "10.1.0.1" ? "172.16.0.1" : undefined);
    const endpoints = [{ addresses: ["10.1.0.1"] }, { addresses: ["10.1.0.2"] }];
    assert.deepEqual(endpointsOf(endpoints, { translateAddress }), [{ addresses: ["172.16.0.1"], conditions: {} }]);
  });

  it("has what stands for what the own site exports, by its port there, where the site has a name for it", () => {
    const at = (exported: string, called?: string) => {
      const slice = sliceOf({ addresses: ["192.168.7.20"] });
      slice.metadata.annotations = { "fjord.dev/exported": exported };
      const translateAddress = (address: string) => (/^252\.0\.0\.7$|^fd66::7$/.test(address) ? called : undefined);
      return endpointSlices.forge(slice, contextOf({ translateAddress }));
    };
    assert.deepEqual(at("252.0.0.7:5432", "240.8.0.7"), {
      addressType: "IPv4",
      endpoints: [{ addresses: ["240.8.0.7"], conditions: { ready: true } }],
      ports: [{ name: "http", port: 5432 }],
    });
    const [ipv6] = (at("[fd66::7]:5432", "fd01::7")?.endpoints ?? []) as Endpoint[];
    assert.deepEqual(ipv6?.addresses, ["fd01::7"]);
    assert.equal(at("252.0.0.7:5432"), undefined);
    assert.equal(at("252.0.0.7:5432", "252.0.0.7"), undefined, "there is no link");
  });

  it("tells of a pod that only this site cannot reach, as others may", () => {
    const targetRef = { kind: "Pod", name: "web-0", namespace: "shop" };
    const endpoint = {
      addresses: ["10.3.0.1"],
      nodeName: "other-wave",
      targetRef,
      conditions: { ready: false, serving: false },
    };
    assert.equal(endpointsOf([endpoint]), undefined);
    const isReadyApart = (pod: string) => pod === "web-0";
    assert.deepEqual(endpointsOf([endpoint], { isReadyApart })?.[0]?.conditions, { ready: true, serving: true });
    const leaving = { ...endpoint, conditions: { ready: false, serving: false, terminating: true } };
    assert.deepEqual(endpointsOf([leaving], { isReadyApart })?.[0]?.conditions, {
      ready: false,
      serving: true,
      terminating: true,
    });
    assert.equal(
      endpointsOf([{ ...endpoint, targetRef: { ...targetRef, name: "web-1" } }], { isReadyApart }),
      undefined,
    );
  });

  it("is seen as it was told, whatever the site has silenced of it", () => {
    const [addresses, ready] = [["10.1.0.1"], { ready: true, serving: true }];
    const twin = sliceOf({ addresses, conditions: { ready: false, serving: false } });
    const metadata = { ...twin.metadata, annotations: { "fjord.dev/silenced": JSON.stringify({ "10.1.0.1": ready }) } };
    assert.deepEqual(endpointSlices.seen({ ...twin, metadata }, {}).endpoints, [{ addresses, conditions: ready }]);
  });

  it("is left alone by the provider's own controllers, and goes with its Service", () => {
    assert.equal(endpointSlices.marks?.["endpointslice.kubernetes.io/managed-by"], "fjord.dev");
    assert.equal(endpointSlices.companion?.nameOf(sliceOf()), "web");
  });
});
