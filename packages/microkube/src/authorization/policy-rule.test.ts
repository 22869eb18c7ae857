import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Attributes } from "./authorizer.ts";
import { compactRules, describeRule, missingRules, type PolicyRule, ruleAllows } from "./policy-rule.ts";

const ask = (verb: string, what: string, { group = "", name = "", namespace = "" } = {}): Attributes => {
  const [resource = "", subresource = ""] = what.split("/");
  return { verb, group, version: "v1", resource, subresource, namespace, name };
};

describe("a rule", () => {
  const pods: PolicyRule = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] };

  it("allows its verbs on its resources in its groups", () => {
    assert.ok(ruleAllows(pods, ask("get", "pods")));
    assert.ok(!ruleAllows(pods, ask("create", "pods")));
    assert.ok(!ruleAllows(pods, ask("get", "secrets")));
    assert.ok(!ruleAllows(pods, ask("get", "pods", { group: "apps" })));
    assert.ok(!ruleAllows(pods, ask("get", "pods/log")));
    assert.ok(!ruleAllows(pods, { verb: "get", path: "/pods" }));
  });

  it("knows stars, and stars before subresources", () => {
    const all: PolicyRule = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
    assert.ok(ruleAllows(all, ask("brew", "pods/log", { group: "x" })));
    const scale: PolicyRule = { verbs: ["get"], apiGroups: ["*"], resources: ["*/scale"] };
    assert.ok(ruleAllows(scale, ask("get", "deployments/scale", { group: "apps" })));
    assert.ok(!ruleAllows(scale, ask("get", "deployments/status", { group: "apps" })));
    assert.ok(!ruleAllows(scale, ask("get", "deployments", { group: "apps" })));
  });

  it("with names allows these, and nothing without a name", () => {
    const named: PolicyRule = { ...pods, resourceNames: ["a"] };
    assert.ok(ruleAllows(named, ask("get", "pods", { name: "a" })));
    assert.ok(!ruleAllows(named, ask("get", "pods", { name: "b" })));
    assert.ok(!ruleAllows(named, ask("list", "pods")));
  });

  it("for paths knows a star at the end", () => {
    const paths: PolicyRule = { verbs: ["get"], nonResourceURLs: ["/healthz", "/apis/*"] };
    assert.ok(ruleAllows(paths, { verb: "get", path: "/healthz" }));
    assert.ok(ruleAllows(paths, { verb: "get", path: "/apis/x/y" }));
    assert.ok(!ruleAllows(paths, { verb: "get", path: "/healthz/etcd" }));
    assert.ok(!ruleAllows(paths, { verb: "post", path: "/healthz" }));
    assert.ok(ruleAllows({ verbs: ["*"], nonResourceURLs: ["*"] }, { verb: "post", path: "/x" }));
  });
});

describe("what is missing of rules", () => {
  const wanted: PolicyRule[] = [{ verbs: ["get", "list"], apiGroups: ["", "apps"], resources: ["pods", "pods/log"] }];

  it("is told verb by verb, and compacted", () => {
    const held: PolicyRule[] = [{ verbs: ["get"], apiGroups: [""], resources: ["pods", "*/log"] }];
    assert.deepEqual(compactRules(missingRules(held, wanted)).map(describeRule), [
      '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
      '{APIGroups:[""], Resources:["pods/log"], Verbs:["list"]}',
      '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["pods/log"], Verbs:["get" "list"]}',
    ]);
  });

  it("is nothing for who has all", () => {
    assert.deepEqual(missingRules([{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }], wanted), []);
    const url: PolicyRule = { verbs: ["get"], nonResourceURLs: ["/apis/x"] };
    assert.deepEqual(missingRules([{ verbs: ["get"], nonResourceURLs: ["/apis/*"] }], [url]), []);
    assert.equal(missingRules([{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }], [url]).length, 1);
  });

  it("is the whole where one has it for some names only", () => {
    const named: PolicyRule = { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] };
    const all: PolicyRule = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
    assert.equal(missingRules([named], [all]).length, 1);
    assert.deepEqual(missingRules([all], [named]), []);
  });

  it("never allows more than is held: a rule that is covered allows nothing else", () => {
    const some = (...texts: string[]) => fc.uniqueArray(fc.constantFrom(...texts), { minLength: 1, maxLength: 3 });
    const rule = fc.record({
      verbs: some("get", "list", "*"),
      apiGroups: some("", "apps", "*"),
      resources: some("pods", "pods/log", "*/log", "*"),
      resourceNames: fc.option(some("a", "b"), { nil: undefined }),
    });
    const question = fc
      .tuple(
        fc.constantFrom("get", "list"),
        fc.constantFrom("pods", "pods/log"),
        fc.constantFrom("", "apps"),
        fc.constantFrom("", "a", "b"),
      )
      .map(([verb, what, group, name]) => ask(verb, what, { group, name }));
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 3 }), rule, question, (held, wish, asked) => {
        fc.pre(missingRules(held, [wish]).length === 0 && ruleAllows(wish, asked));
        assert.ok(held.some((one) => ruleAllows(one, asked)));
      }),
      { numRuns: 500 },
    );
  });
});
