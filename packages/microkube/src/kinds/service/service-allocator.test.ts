import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import type { Cluster } from "../../cluster.ts";
import { SYSTEM } from "../../cluster.ts";
import type { StatusError } from "../../status-error.ts";
import { ServiceAllocator } from "./service-allocator.ts";
import type { Service } from "./service-shape.ts";

type Listener = Parameters<Cluster["follow"]>[1];

/** Stored services, and who follows them. */
class Stored {
  readonly services: Service[] = [];
  readonly #listeners: Listener[] = [];
  readonly cluster = {
    random: () => 0,
    types: { ofKind: () => ({}) },
    follow: (_type: unknown, listener: Listener) => {
      for (const service of this.services) listener({ type: "ADDED", object: service as KubeObject });
      this.#listeners.push(listener);
      return () => {};
    },
  } as unknown as Cluster;

  tell(type: "ADDED" | "MODIFIED" | "DELETED", service: Service): void {
    for (const listener of this.#listeners) listener({ type, object: service as KubeObject });
  }
}

const service = (name: string, spec: Partial<NonNullable<Service["spec"]>>): Service => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "default", uid: name },
  spec: { type: "ClusterIP", ipFamilies: ["IPv4"], ports: [{ port: 80, protocol: "TCP" }], ...spec },
});

function setUp(range = "10.0.0.0/29") {
  const stored = new Stored();
  const allocator = new ServiceAllocator([range], { first: 30000, last: 30001 });
  const context = { cluster: stored.cluster, caller: SYSTEM, namespace: "default", dryRun: false, warn: () => {} };
  const reserve = (one: Service, old?: Service) =>
    allocator.reserve(one as KubeObject, old as KubeObject | undefined, context);
  return { stored, reserve };
}

test("each service gets an address of its own, until there are no more", () => {
  const { reserve } = setUp();
  const got = new Set<string>();
  for (let i = 0; i < 6; i++) {
    const one = service(`s${i}`, {});
    reserve(one);
    assert.deepEqual(one.spec?.clusterIPs, [one.spec?.clusterIP]);
    got.add(one.spec?.clusterIP ?? "");
  }
  assert.deepEqual(
    [...got].sort(),
    [1, 2, 3, 4, 5, 6].map((n) => `10.0.0.${n}`),
  );
  assert.throws(() => reserve(service("more", {})), /failed to allocate a serviceIP/);
});

test("what is not written comes back, and what is deleted too", () => {
  const { stored, reserve } = setUp();
  const chosen = () => service("a", { clusterIP: "10.0.0.3", clusterIPs: ["10.0.0.3"] });
  const giveBack = reserve(chosen());
  assert.throws(() => reserve({ ...chosen(), metadata: { name: "b", uid: "b" } }), /provided IP is already allocated/);
  giveBack();
  const kept = chosen();
  reserve(kept);
  stored.tell("ADDED", kept);
  assert.throws(() => reserve({ ...chosen(), metadata: { name: "b", uid: "b" } }), /already allocated/);
  stored.tell("DELETED", kept);
  reserve({ ...chosen(), metadata: { name: "b", uid: "b" } });
});

test("what is stored is taken after a restart", () => {
  const { stored, reserve } = setUp();
  stored.services.push(
    service("a", {
      type: "NodePort",
      clusterIPs: ["10.0.0.1"],
      ports: [{ port: 80, protocol: "TCP", nodePort: 30000 }],
    }),
  );
  const one = service("b", { type: "NodePort" });
  reserve(one);
  assert.notEqual(one.spec?.clusterIP, "10.0.0.1");
  assert.equal(one.spec?.ports?.[0]?.nodePort, 30001);
  assert.throws(() => reserve(service("c", { type: "NodePort" })), /failed to allocate a nodePort/);
});

test("a service keeps what it has when it changes", () => {
  const { stored, reserve } = setUp();
  const old = service("a", {
    type: "NodePort",
    clusterIP: "10.0.0.1",
    clusterIPs: ["10.0.0.1"],
    ports: [{ port: 80, protocol: "TCP", nodePort: 30000 }],
  });
  stored.services.push(old);
  const next = structuredClone(old);
  reserve(next, old);
  assert.deepEqual(next.spec, old.spec);
});

test("one node port serves a port in several protocols", () => {
  const { reserve } = setUp();
  const one = service("a", {
    type: "NodePort",
    ports: [
      { name: "a", port: 53, protocol: "TCP" },
      { name: "b", port: 53, protocol: "UDP" },
    ],
  });
  reserve(one);
  assert.equal(one.spec?.ports?.[0]?.nodePort, one.spec?.ports?.[1]?.nodePort);
});

test("an address outside of the range is refused as Kubernetes does", () => {
  const { reserve } = setUp();
  assert.throws(
    () => reserve(service("a", { clusterIP: "1.2.3.4", clusterIPs: ["1.2.3.4"] })),
    ({ status }: StatusError) =>
      status.message ===
      'Service "a" is invalid: spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) is not in the valid range. The range of valid IPs is 10.0.0.0/29',
  );
});
