import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { checkProxied, podAddress, portNumber, serviceAddress } from "./connect-location.ts";

const own = ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "0:0:0:0:0:0:0:1", "::", "::ffff:127.0.0.1", "localhost", ""];
const link = ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1"];

test("nobody reaches the server's own machine or link through it", () => {
  for (const host of [...own, ...link]) {
    assert.throws(() => checkProxied(host), { message: "address not allowed" }, host);
  }
  for (const host of ["10.0.0.1", "192.168.1.1", "fd00::1", "2001:db8::1", "node.example"]) checkProxied(host);
  const pod = { metadata: {}, spec: { containers: [] }, status: { podIPs: [{ ip: "169.254.169.254" }] } };
  assert.throws(() => podAddress(pod as unknown as KubeObject, "80", "http"), { message: "address not allowed" });
});

test("a port is one that there can be", () => {
  assert.deepEqual([portNumber(""), portNumber("1"), portNumber("65535")], [undefined, 1, 65_535]);
  for (const text of ["0", "65536", "99999", "abc", "-1"]) assert.throws(() => portNumber(text), { code: 400 }, text);
});

test("a service is its own pods, whatever its endpoints say", () => {
  const service = { metadata: { name: "web", namespace: "shop" }, spec: { ports: [{ port: 80 }] } };
  const pods: Record<string, unknown> = { one: { metadata: {}, status: { podIPs: [{ ip: "10.0.0.1" }] } } };
  const ask = (ip: string, targetRef?: object) => {
    const endpoints = { metadata: {}, subsets: [{ addresses: [{ ip, targetRef }], ports: [{ port: 8080 }] }] };
    const named = { scheme: "http", name: "web", port: "80" } as const;
    const means = { random: () => 0, pod: (name: string) => pods[name] as KubeObject | undefined };
    return serviceAddress(service as unknown as KubeObject, endpoints as unknown as KubeObject, named, means);
  };
  const mine = { kind: "Pod", namespace: "shop", name: "one" };
  assert.deepEqual(ask("10.0.0.1", mine), { host: "10.0.0.1", port: 8080 });
  const none = { message: 'no endpoints available for service "web"' };
  assert.throws(() => ask("10.0.0.2", mine), none);
  assert.throws(() => ask("10.0.0.1", { ...mine, namespace: "bank" }), none);
  assert.throws(() => ask("10.0.0.1", { ...mine, name: "two" }), none);
  assert.throws(() => ask("10.0.0.1"), none);
});
