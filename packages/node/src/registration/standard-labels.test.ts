import assert from "node:assert/strict";
import { test } from "node:test";
import { kubeletVersion } from "./kubelet-version.ts";
import { standardLabels } from "./standard-labels.ts";

const facts = {
  nodeName: "n",
  hostname: "h",
  architecture: "arm64",
  operatingSystem: "linux",
  runtime: "process",
};

test("every node has the labels that schedulers look for", () => {
  assert.deepEqual(standardLabels({ ...facts, instanceType: "small", zone: "z", own: { "example.com/a": "1" } }), {
    "kubernetes.io/arch": "arm64",
    "kubernetes.io/os": "linux",
    "kubernetes.io/hostname": "h",
    "beta.kubernetes.io/arch": "arm64",
    "beta.kubernetes.io/os": "linux",
    "node.kubernetes.io/instance-type": "small",
    "topology.kubernetes.io/zone": "z",
    "fjord.dev/runtime": "process",
    "example.com/a": "1",
  });
});

test("a label that a node may not set on itself is refused", () => {
  const own = { "node-role.kubernetes.io/control-plane": "" };
  assert.throws(() => standardLabels({ ...facts, own }), { code: "NODE_LABEL_REFUSED" });
});

const versions: [string | undefined, string][] = [
  ["v1.36.3", "v1.36.0+fjord.0.1.0"],
  ["v1.35.4", "v1.35.0+fjord.0.1.0"],
  ["v1.40.0", "v1.36.0+fjord.0.1.0"],
  ["v1.33.2+k3s1", "v1.33.0+fjord.0.1.0"],
  [undefined, "v1.36.0+fjord.0.1.0"],
  ["strange", "v1.36.0+fjord.0.1.0"],
];
for (const [server, expected] of versions) {
  test(`with an API server ${server}, the kubelet's version is ${expected}`, () => {
    assert.equal(kubeletVersion(server, "0.1.0"), expected);
  });
}
