import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointSlice } from "@fjord/kube";
import type { AddressType, Endpoint, EndpointPort } from "./endpoint-forge.ts";
import { planSlices } from "./slice-plan.ts";

const ports: EndpointPort[] = [{ name: "http", port: 80, protocol: "TCP" }];
const forge = (addressType: AddressType, ports: readonly EndpointPort[]): EndpointSlice => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { generateName: "web-", labels: { app: "web" } },
  addressType,
  ports: [...ports],
  endpoints: [],
});
const endpoint = (n: number, ready = true): Endpoint => ({
  addresses: [`10.0.0.${n}`],
  conditions: { ready },
  targetRef: { kind: "Pod", uid: String(n) },
});
const many = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => endpoint(from + i));
const slice = (name: string, endpoints: Endpoint[], slicePorts = ports, labels = { app: "web" }): EndpointSlice => ({
  ...forge("IPv4", slicePorts),
  metadata: { name, uid: name, labels },
  endpoints,
});
const plan = (endpoints: Endpoint[], existing: EndpointSlice[], placeholders: AddressType[] = []) =>
  planSlices({
    groups: endpoints.length > 0 ? [{ addressType: "IPv4", ports, endpoints }] : [],
    existing,
    forge,
    isOwned: ({ metadata }) => metadata.name !== "stranger",
    placeholders,
  });
const sizes = (slices: EndpointSlice[]) =>
  slices.map(({ metadata, endpoints }) => `${metadata.name}:${endpoints?.length}`);

test("nothing is written where all is as it should be", () => {
  assert.deepEqual(plan(many(1, 4), [slice("a", many(1, 4))]), { create: [], update: [], delete: [] });
});

test("a hundred endpoints fill a slice", () => {
  const { create } = plan(many(0, 250), []);
  assert.deepEqual(
    create.map(({ endpoints }) => endpoints?.length),
    [100, 100, 50],
  );
});

test("an endpoint that changed or went is written where it is", () => {
  const changed = plan([endpoint(1), endpoint(2, false)], [slice("a", many(1, 3)), slice("b", [])]);
  assert.deepEqual(sizes(changed.update), ["a:2"]);
  assert.deepEqual(sizes(changed.delete), ["b:0"]);
  assert.deepEqual(sizes(plan([endpoint(1)], [slice("a", many(1, 3))]).update), ["a:1"]);
});

test("new endpoints go to a slice with room, and to a new one where there is none", () => {
  assert.deepEqual(sizes(plan(many(0, 60), [slice("a", many(0, 50))]).update), ["a:60"]);
  const full = plan(many(0, 101), [slice("a", many(0, 100))]);
  assert.deepEqual([sizes(full.update), full.create.length], [[], 1]);
});

test("a slice of other ports is used again, one of another owner is deleted", () => {
  const other: EndpointPort[] = [{ name: "http", port: 81, protocol: "TCP" }];
  const { create, update, delete: gone } = plan(many(0, 2), [slice("a", many(0, 2), other), slice("stranger", [])]);
  assert.deepEqual([create.length, sizes(update), sizes(gone)], [0, ["a:2"], ["stranger:0"]]);
  assert.equal(update[0]?.ports?.[0]?.port, 80);
});

test("where there are no endpoints an empty slice stands for them", () => {
  assert.equal(plan([], [], ["IPv4"]).create.length, 1);
  assert.deepEqual(plan([], [slice("a", [], [])], ["IPv4"]), { create: [], update: [], delete: [] });
  assert.deepEqual(sizes(plan([], [slice("a", many(0, 3))], ["IPv4"]).update), ["a:0"]);
  assert.deepEqual(sizes(plan([], [slice("a", [], [])]).delete), ["a:0"]);
});

test("labels follow the service", () => {
  const { update } = plan(many(0, 1), [slice("a", many(0, 1), ports, { app: "old" })]);
  assert.deepEqual(update[0]?.metadata.labels, { app: "web" });
  assert.equal(update[0]?.metadata.name, "a");
});
