import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { planNodes } from "./network-plan.ts";
import { enterScript, insideScript, startScript } from "./node-scripts.ts";

const layout = { name: "site-1", podCidrs: ["10.101.0.0/16"], serviceCidrs: ["10.181.0.0/16"] };
const network = { bridge: "fj0abc12z-1", cidr: "198.18.7.0/24", address: "198.18.7.1" };
const nodes = planNodes(layout, network, 3);
const options = {
  directory: "/tmp/it's a bed/site-1/nodes/site-1-node-1",
  node: nodes[0] as (typeof nodes)[number],
  nodes,
  network,
  layout,
  programs: { kubelet: "/opt/my programs/kubelet" },
  processFiles: ["/sys/fs/cgroup/pids/bed/node/daemons/cgroup.procs"],
};

test("the scripts are valid shell, whatever the directory is called", () => {
  for (const script of [startScript(options), enterScript(options), insideScript(options)]) {
    const { status, stderr } = spawnSync("sh", ["-n"], { input: script, encoding: "utf8" });
    assert.equal(status, 0, stderr);
  }
});

test("a node knows the way to every other node's pods, and none to anywhere else", () => {
  const script = insideScript(options);
  const routes = script.split("\n").filter((line) => line.startsWith("route add"));
  assert.deepEqual(routes, [
    "route add 10.181.0.0/16 dev eth0",
    "route add 10.101.1.0/24 via 198.18.7.12",
    "route add 10.101.2.0/24 via 198.18.7.13",
  ]);
});

test("of both families, it knows both ways, and pods leave in its name by either", () => {
  const both = {
    name: "site-1",
    podCidrs: ["10.101.0.0/16", "fd77:1::/48"],
    serviceCidrs: ["10.181.0.0/16", "fd78:1::/112"],
  };
  const wide = { ...network, ipv6: { cidr: "fd79:7::/64", address: "fd79:7::1" } };
  const plans = planNodes(both, wide, 2);
  const node = plans[0] as (typeof plans)[number];
  const script = insideScript({ ...options, layout: both, network: wide, nodes: plans, node });
  for (const line of [
    "address add 198.18.7.11/24 dev eth0",
    "address add fd79:7::b/64 dev eth0",
    "route add fd78:1::/112 dev eth0",
    "route add 10.101.1.0/24 via 198.18.7.12",
    "route add fd77:1:0:2::/64 via fd79:7::c",
    '    ip6 saddr fd77:1:0:1::/64 ip6 daddr != fd77:1::/48 oifname "eth0" masquerade',
  ])
    assert.ok(script.split("\n").includes(line), line);
});

test("nothing enters a node that is not there", () => {
  const script = enterScript({ ...options, patience: 0.2 });
  const { status, stderr } = spawnSync("sh", ["-c", script, "enter.sh", "true"], { encoding: "utf8" });
  assert.equal(status, 1);
  assert.match(stderr, /the node is not running/);
});

test("a node that serves names itself has the address for it", () => {
  assert.match(insideScript({ ...options, ownAddresses: ["10.181.0.10"] }), /^address add 10\.181\.0\.10\/32 dev lo$/m);
  assert.doesNotMatch(insideScript(options), /dev lo\/32|10\.181\.0\.10/);
});
