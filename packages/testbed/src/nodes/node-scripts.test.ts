import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { planNodes } from "./network-plan.ts";
import { enterScript, insideScript, startScript } from "./node-scripts.ts";

const layout = { name: "site-1", podCidr: "10.101.0.0/16", serviceCidr: "10.181.0.0/16" };
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
