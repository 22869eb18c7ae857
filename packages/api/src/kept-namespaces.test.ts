import assert from "node:assert/strict";
import { test } from "node:test";
import { isKeptNamespace } from "./kept-namespaces.ts";

test("namespaces of the system, of agents and of tenants are kept, and no others", () => {
  for (const name of ["kube-system", "kube-public", "kube-node-lease", "fjord-system", "fjord-tenant-x"])
    assert.ok(isKeptNamespace(name), name);
  for (const name of ["default", "kube-system-2", "shop", "my-kube-system"]) assert.ok(!isKeptNamespace(name), name);
  assert.deepEqual(
    ["agents", "fjord-system"].map((name) => isKeptNamespace(name, "agents")),
    [true, false],
  );
});
