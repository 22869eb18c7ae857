import assert from "node:assert/strict";
import test from "node:test";
import { parseAllDocuments } from "yaml";
import { forgeGoMod, joinDocuments, outputName, stagingModules } from "./go-module.ts";
import { wanted } from "./recipes.ts";

const upstream = `module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
	k8s.io/api v0.0.0
	github.com/kylelemons/godebug v1.1.0 // indirect
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubectl => ./staging/src/k8s.io/kubectl
	example.com/fork => example.com/other v1.0.0
)
`;

test("only modules in the staging folder are taken for staging modules", () => {
  assert.deepEqual(stagingModules(upstream), ["k8s.io/api", "k8s.io/kubectl"]);
  assert.deepEqual(stagingModules("replace k8s.io/api => ./staging/src/k8s.io/api\n"), ["k8s.io/api"]);
});

test("a fork is built by the name that it calls itself", () => {
  const [want] = wanted([], ["kube-router"]);
  assert.ok(want);
  assert.equal(
    forgeGoMod(want.recipe, ""),
    `module fjord.dev/testbed/binaries

go 1.22.5

require github.com/cloudnativelabs/kube-router/v2 v2.2.1

replace github.com/cloudnativelabs/kube-router/v2 => github.com/k3s-io/kube-router/v2 v2.2.1
`,
  );
});

test("Kubernetes' staging modules are replaced by their published versions", () => {
  const recipe = wanted(["1.35"], ["nodes"]).find(({ recipe }) => recipe.staging)?.recipe;
  assert.ok(recipe);
  assert.equal(
    forgeGoMod(recipe, upstream),
    `module fjord.dev/testbed/binaries

go 1.25.0

godebug default=go1.26

require k8s.io/kubernetes v1.35.4

replace k8s.io/api => k8s.io/api v0.35.4
replace k8s.io/kubectl => k8s.io/kubectl v0.35.4
`,
  );
});

test("other modules are simply required", () => {
  const [etcd] = wanted([], ["control-plane"]);
  assert.ok(etcd);
  assert.match(
    forgeGoMod(etcd.recipe, "module go.etcd.io/etcd/server/v3\n"),
    /^require go\.etcd\.io\/etcd\/server\/v3 v3\.6\.\d+$/m,
  );
});

test("a program is named after its package, not after a major version", () => {
  assert.equal(outputName("k8s.io/kubernetes/cmd/kubelet"), "kubelet");
  assert.equal(outputName("go.etcd.io/etcd/server/v3"), "server");
});

test("joined documents are the same documents", () => {
  const joined = joinDocuments(["---\nkind: A\n", "kind: B\n", "\nkind: C"]);
  assert.deepEqual(
    parseAllDocuments(joined).map((document) => document.toJS()),
    [{ kind: "A" }, { kind: "B" }, { kind: "C" }],
  );
});
