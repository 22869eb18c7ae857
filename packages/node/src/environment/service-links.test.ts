import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryObjects } from "../volumes/testing/memory-objects.ts";
import { serviceVariables } from "./service-links.ts";

function services() {
  const objects = new MemoryObjects();
  objects.addService("default", "kubernetes", { clusterIP: "10.0.0.1", ports: [{ name: "https", port: 443 }] });
  objects.addService("test", "redis-primary", {
    clusterIP: "10.0.0.11",
    ports: [
      { name: "redis", port: 6379, protocol: "TCP" },
      { name: "gossip-x", port: 7000, protocol: "UDP" },
    ],
  });
  objects.addService("test", "six", { clusterIP: "fd00::1", ports: [{ port: 80 }] });
  objects.addService("test", "headless", { clusterIP: "None", ports: [{ port: 80 }] });
  objects.addService("test", "pending", { ports: [{ port: 80 }] });
  objects.addService("test", "elsewhere", { type: "ExternalName", externalName: "x.example" });
  objects.addService("other", "foreign", { clusterIP: "10.0.0.12", ports: [{ port: 80 }] });
  objects.addService("default", "neighbour", { clusterIP: "10.0.0.13", ports: [{ port: 80 }] });
  return objects.serviceList;
}

test("services of the namespace get variables for their address and each port", () => {
  const variables = Object.fromEntries(serviceVariables(services(), "test", true));
  assert.deepEqual(variables, {
    KUBERNETES_SERVICE_HOST: "10.0.0.1",
    KUBERNETES_SERVICE_PORT: "443",
    KUBERNETES_SERVICE_PORT_HTTPS: "443",
    KUBERNETES_PORT: "tcp://10.0.0.1:443",
    KUBERNETES_PORT_443_TCP: "tcp://10.0.0.1:443",
    KUBERNETES_PORT_443_TCP_PROTO: "tcp",
    KUBERNETES_PORT_443_TCP_PORT: "443",
    KUBERNETES_PORT_443_TCP_ADDR: "10.0.0.1",
    REDIS_PRIMARY_SERVICE_HOST: "10.0.0.11",
    REDIS_PRIMARY_SERVICE_PORT: "6379",
    REDIS_PRIMARY_SERVICE_PORT_REDIS: "6379",
    REDIS_PRIMARY_SERVICE_PORT_GOSSIP_X: "7000",
    REDIS_PRIMARY_PORT: "tcp://10.0.0.11:6379",
    REDIS_PRIMARY_PORT_6379_TCP: "tcp://10.0.0.11:6379",
    REDIS_PRIMARY_PORT_6379_TCP_PROTO: "tcp",
    REDIS_PRIMARY_PORT_6379_TCP_PORT: "6379",
    REDIS_PRIMARY_PORT_6379_TCP_ADDR: "10.0.0.11",
    REDIS_PRIMARY_PORT_7000_UDP: "udp://10.0.0.11:7000",
    REDIS_PRIMARY_PORT_7000_UDP_PROTO: "udp",
    REDIS_PRIMARY_PORT_7000_UDP_PORT: "7000",
    REDIS_PRIMARY_PORT_7000_UDP_ADDR: "10.0.0.11",
    SIX_SERVICE_HOST: "fd00::1",
    SIX_SERVICE_PORT: "80",
    SIX_PORT: "tcp://[fd00::1]:80",
    SIX_PORT_80_TCP: "tcp://[fd00::1]:80",
    SIX_PORT_80_TCP_PROTO: "tcp",
    SIX_PORT_80_TCP_PORT: "80",
    SIX_PORT_80_TCP_ADDR: "fd00::1",
  });
});

test("without service links only the API server is told", () => {
  const names = [...serviceVariables(services(), "test", false).keys()];
  assert.ok(names.includes("KUBERNETES_SERVICE_HOST"));
  assert.ok(names.every((name) => name.startsWith("KUBERNETES_")));
});

test("a service called kubernetes in the pod's own namespace takes its place", () => {
  const objects = new MemoryObjects();
  objects.addService("default", "kubernetes", { clusterIP: "10.0.0.1", ports: [{ port: 443 }] });
  objects.addService("test", "kubernetes", { clusterIP: "10.0.0.2", ports: [{ port: 444 }] });
  assert.equal(serviceVariables(objects.serviceList, "test", true).get("KUBERNETES_SERVICE_HOST"), "10.0.0.2");
});
