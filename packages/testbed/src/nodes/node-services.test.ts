import assert from "node:assert/strict";
import { test } from "node:test";
import { kubeletCommand } from "./kubelet-command.ts";
import { nodeServices, serviceObjects, usualKubelet } from "./node-services.ts";

test("on Fjord's own control plane its own node serves Services and names; elsewhere kube-proxy and CoreDNS do", () => {
  assert.equal(nodeServices("microkube", usualKubelet("microkube")), "node");
  assert.equal(nodeServices("microkube", "kubernetes"), "kube-proxy");
  assert.equal(nodeServices("1.36", usualKubelet("1.36")), "kube-proxy");
  assert.equal(nodeServices("1.36", "fjord"), "kube-proxy");
  const kinds = (services: "node" | "kube-proxy") => serviceObjects(services, "10.0.0.10").map(({ kind }) => kind.kind);
  assert.ok(kinds("kube-proxy").includes("Deployment"));
  assert.deepEqual(kinds("node"), ["ClusterRole", "ClusterRoleBinding"]);
  const command = (services: "node" | "kube-proxy") =>
    kubeletCommand("fjord", {
      ...{ node: "n", addresses: [""], cgroupRoot: "", dnsServiceAddress: "10.0.0.10", services, etc: (file) => file },
    }).filter((word) => /services|serve-dns/.test(word));
  assert.deepEqual(command("node"), ["--services=nftables", "--serve-dns=10.0.0.10"]);
  assert.deepEqual(command("kube-proxy"), []);
});
