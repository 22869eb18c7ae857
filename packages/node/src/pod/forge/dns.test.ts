import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "../pod-containers.ts";
import type { PodSettings } from "../pod-settings.ts";
import { newPod } from "../testing/pod-bench.ts";
import { dnsOf } from "./dns.ts";

const settings: PodSettings = {
  nodeName: "n",
  hostIPs: [],
  stateDirectory: "/s",
  clusterDns: ["10.96.0.10"],
  clusterDomain: "cluster.local",
  hostDns: { servers: ["192.0.2.53"], searches: ["example.com"], options: ["timeout:1"] },
  cgroupRoot: "",
  memoryCapacity: 1,
  allocatable: {},
};

const dns = (spec: Partial<PodSpec>, more: Partial<PodSettings> = {}) =>
  dnsOf(newPod("p", spec), { ...settings, ...more });
const cluster = ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"];

test("pods ask the cluster first, unless they are on the host's network", () => {
  const expected = { servers: ["10.96.0.10"], searches: [...cluster, "example.com"], options: ["ndots:5"] };
  assert.deepEqual(dns({}), expected);
  assert.deepEqual(dns({ hostNetwork: true }), undefined);
  assert.deepEqual(dns({ hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" }), expected);
});

test("without a DNS service in the cluster, pods use the host's settings", () => {
  assert.equal(dns({}, { clusterDns: [] }), undefined);
  assert.equal(dns({ dnsPolicy: "Default" }), undefined);
});

test("what a pod adds is added, and its options replace those of their name", () => {
  const dnsConfig = {
    nameservers: ["192.0.2.1"],
    searches: ["own"],
    options: [{ name: "ndots", value: "2" }, { name: "debug" }],
  };
  assert.deepEqual(dns({ dnsPolicy: "None", dnsConfig }), {
    servers: ["192.0.2.1"],
    searches: ["own"],
    options: ["ndots:2", "debug"],
  });
  assert.deepEqual(dns({ dnsConfig })?.options, ["ndots:2", "debug"]);
  assert.deepEqual(dns({ dnsPolicy: "Default", dnsConfig })?.servers, ["192.0.2.53", "192.0.2.1"]);
});

test("what resolvers would not take is left out", () => {
  const nameservers = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
  const searches = Array.from({ length: 40 }, (_, index) => `${index}.${"x".repeat(60)}`);
  const result = dns({ dnsPolicy: "None", dnsConfig: { nameservers, searches } });
  assert.equal(result?.servers.length, 3);
  assert.ok((result?.searches.length ?? 0) <= 32);
  assert.ok((result?.searches.join(" ").length ?? 0) <= 2048);
});
