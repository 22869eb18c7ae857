import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { captureLimits, podHosts } from "./capture-filter.ts";
import { carryingNodes } from "./carriers.ts";

const flags = { host: [], port: [], duration: "1m", bytes: "64Mi" };

test("options become a wish, with limits that nobody has to name", () => {
  assert.deepEqual(captureLimits(flags), { hosts: [], ports: [], durationMs: 60_000, bytes: 64 * 1024 ** 2 });
  const all = {
    host: ["10.0.0.1", "fd66::/64"],
    port: ["80"],
    protocol: "tcp",
    duration: "5s",
    bytes: "1M",
    packets: "7",
    snaplen: "96",
  } as const;
  assert.deepEqual(captureLimits(all), {
    hosts: [["10.0.0.1", "fd66::/64"]],
    ports: [80],
    protocol: "tcp",
    durationMs: 5_000,
    bytes: 1_000_000,
    packets: 7,
    snaplen: 96,
  });
});

test("what no gateway does is refused before one is asked", () => {
  for (const wrong of [
    { host: ["web"] },
    { host: [""] },
    { host: ["10.0.0.1", "1.2.3.4/99"] },
    { host: ["10.0.0.0/8/8"] },
    { host: ["fd66::/129"] },
    { host: ["10.0.0.0/"] },
    { port: ["http"] },
    { port: ["70000"] },
    { packets: "0" },
    { snaplen: "-1" },
    { duration: "2h" },
    { duration: "0s" },
    { bytes: "2Gi" },
    { bytes: "much" },
    { bytes: "0" },
  ])
    assert.throws(() => captureLimits({ ...flags, ...wrong }), { code: "CLI_INVALID_VALUE" }, JSON.stringify(wrong));
});

const pod = (status: object, spec: object = {}) => ({ metadata: { name: "web" }, spec, status }) as Pod;

test("pods are known by the addresses that they have here, of both families", () => {
  const both = pod({ phase: "Running", podIP: "240.0.0.9", podIPs: [{ ip: "240.0.0.9" }, { ip: "fd66::9" }] });
  const over = pod({ phase: "Succeeded", podIP: "10.42.0.3" });
  const ofNode = pod({ phase: "Running", podIP: "192.168.0.2" }, { hostNetwork: true });
  assert.deepEqual(podHosts([both, over, ofNode], "namespace shop"), ["240.0.0.9", "fd66::9"]);
  assert.throws(() => podHosts([over, ofNode, pod({ phase: "Pending" })], "namespace shop"), {
    code: "CLI_NO_SUCH_THING",
  });
});

test("those are asked that have said that they carry the link", () => {
  const own = { status: { gateway: { node: "one" } } } as never;
  assert.deepEqual(carryingNodes(own, {}), ["one"]);
  const lanes = [{ lane: 0, node: "one" }, { lane: 1, node: "two" }, { lane: 2 }];
  assert.deepEqual(carryingNodes(own, { status: { lanes } } as never), ["one", "two"]);
  assert.deepEqual(carryingNodes({}, {}), []);
});
