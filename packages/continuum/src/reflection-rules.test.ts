import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isCustomGroup, type ReflectionRule, rulesCondition, unheededRules } from "./reflection-rules.ts";

const rule = (resource: string, group = "", policy: ReflectionRule["policy"] = "Never") => ({
  group,
  resource,
  policy,
});
const boats = rule("boats", "example.com", "DenyList");
const whys = (rules: ReflectionRule[], own: ReflectionRule[] = []) => unheededRules(rules, own).map(({ why }) => why);

describe("rules of reflection that nothing obeys", () => {
  it("tell custom resources from Kubernetes' own and Fjord's", () => {
    for (const group of ["example.com", "a.b.c"]) assert.ok(isCustomGroup(group), group);
    for (const group of ["", "apps", "networking.k8s.io", "k8s.io", "fjord.dev", "x.fjord.dev", "a.kubernetes.io"])
      assert.ok(!isCustomGroup(group), group);
  });

  it("are none that are about what is reflected", () => {
    const rules = [
      rule("secrets"),
      rule("events"),
      rule("ingresses", "networking.k8s.io"),
      rule("boats", "example.com"),
    ];
    assert.deepEqual(whys(rules, [boats]), []);
  });

  it("are told with the name that was probably meant", () => {
    const rules = [
      rule("secret"),
      rule("ingresses", "apps"),
      rule("boat", "example.com"),
      rule("boats", "exmaple.com"),
    ];
    const said = whys(rules, [boats]);
    for (const [place, meant] of [
      "secrets",
      "ingresses.networking.k8s.io",
      "boats.example.com",
      "boats.example.com",
    ].entries())
      assert.ok(said[place]?.includes(`(did you mean ${meant}?)`), said[place]);
    assert.doesNotMatch(whys([rule("widgets")])[0] ?? "", /did you mean/);
  });

  it("may be obeyed later where they are about a custom resource, and keep nothing at home", () => {
    const later = (each: ReflectionRule) => unheededRules([each], [])[0]?.mayCome;
    assert.equal(later(boats), true);
    assert.equal(later(rule("boats", "example.com", "AllowList")), false);
    assert.equal(later(rule("boats", "example.com")), false);
    // No custom resource, whatever is listed.
    assert.equal(later(rule("httproutes", "gateway.networking.k8s.io", "DenyList")), false);
    assert.equal(later(rule("secret", "", "DenyList")), false);
  });

  it("are in a condition as long as they are there, and taken back after", () => {
    assert.equal(rulesCondition("spec.reflection", undefined, []), undefined);
    const told = rulesCondition("spec.reflection", [rule("secrets"), rule("secret")], []);
    assert.deepEqual([told?.status, told?.reason], ["False", "ResourceUnknown"]);
    assert.match(told?.message ?? "", /^spec\.reflection\[1\] has no effect: .*did you mean secrets\?/);
    const mended = rulesCondition("spec.reflection", [], [], [{ type: "RulesHeeded" }]);
    assert.deepEqual([mended?.status, mended?.reason], ["True", "AllHeeded"]);
  });
});
