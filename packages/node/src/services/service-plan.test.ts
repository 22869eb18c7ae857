import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EndpointSlice, Service } from "@fjord/kube";
import { planServices } from "./service-plan.ts";
import { testService, testSlice } from "./test-objects.ts";

const context = { nodeName: "edge-1" };
const plan = (service: Service, slices: EndpointSlice[], more: object = {}) =>
  planServices([service], () => slices, { ...context, ...more });
const at = (ip: string, more: object = {}) => ({
  addresses: [ip],
  conditions: { ready: true, serving: true, terminating: false },
  ...more,
});
const addresses = (endpoints: readonly { ip: string }[] | undefined) => (endpoints ?? []).map(({ ip }) => ip);

describe("what a node serves", () => {
  it("is each port of a Service with its ready endpoints, in order", () => {
    const [port] = plan(testService("web"), [
      testSlice("web", 8080, [at("10.0.0.2"), at("10.0.0.1"), at("10.0.0.3", { conditions: { ready: false } })]),
    ]);
    assert.deepEqual(port?.inside, [
      { ip: "10.0.0.1", port: 8080 },
      { ip: "10.0.0.2", port: 8080 },
    ]);
    assert.equal(port?.id, "shop/web:http");
    assert.equal(port?.nodePort, undefined);
  });

  it("is nothing of headless and external Services", () => {
    assert.deepEqual(plan(testService("a", { clusterIP: "None", clusterIPs: ["None"] }), []), []);
    assert.deepEqual(plan(testService("b", { type: "ExternalName" }), []), []);
  });

  it("falls back to endpoints that end, but still answer", () => {
    const ending = at("10.0.0.1", { conditions: { ready: false, serving: true, terminating: true } });
    const dead = at("10.0.0.2", { conditions: { ready: false, serving: false, terminating: true } });
    assert.deepEqual(addresses(plan(testService("web"), [testSlice("web", 8080, [ending, dead])])[0]?.inside), [
      "10.0.0.1",
    ]);
  });

  it("stays on the node where the policy says so, inside and outside apart", () => {
    const endpoints = [at("10.0.0.1", { nodeName: "edge-1" }), at("10.0.0.2", { nodeName: "edge-2" })];
    const [port] = plan(testService("web", { internalTrafficPolicy: "Local" }), [testSlice("web", 8080, endpoints)]);
    assert.deepEqual(addresses(port?.inside), ["10.0.0.1"]);
    assert.deepEqual(addresses(port?.outside), ["10.0.0.1", "10.0.0.2"]);
    const [other] = plan(testService("web", { externalTrafficPolicy: "Local" }), [testSlice("web", 8080, endpoints)]);
    assert.deepEqual(addresses(other?.outside), ["10.0.0.1"]);
    assert.equal(other?.keepsClient, true);
  });

  it("follows hints only where all endpoints have one", () => {
    const hinted = (ip: string, zone: string) => at(ip, { hints: { forZones: [{ name: zone }] } });
    const inZone = (endpoints: EndpointSlice["endpoints"]) =>
      addresses(plan(testService("web"), [testSlice("web", 8080, endpoints)], { zone: "z1" })[0]?.inside);
    assert.deepEqual(inZone([hinted("10.0.0.1", "z1"), hinted("10.0.0.2", "z2")]), ["10.0.0.1"]);
    assert.deepEqual(inZone([hinted("10.0.0.1", "z1"), at("10.0.0.2")]), ["10.0.0.1", "10.0.0.2"]);
    assert.deepEqual(inZone([hinted("10.0.0.1", "z3")]), ["10.0.0.1"]);
  });

  it("matches ports by name, and keeps clients for as long as is said", () => {
    const service = testService("web", { sessionAffinity: "ClientIP", ports: [{ name: "admin", port: 9000 }] });
    const [port] = plan(service, [testSlice("web", 8080, [at("10.0.0.1")])]);
    assert.deepEqual(port?.inside, []);
    assert.equal(port?.affinitySeconds, 10_800);
  });
});
