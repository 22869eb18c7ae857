import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Offloading, OffloadingRule } from "@fjord/api";
import type { Namespace } from "@fjord/kube";
import { ruleFor } from "./rule-for.ts";
import { forgeOffloading, isMadeFor, madeByRule } from "./rule-offloading.ts";

const rule = (name: string, matchLabels: Record<string, string> = {}, more: object = {}): OffloadingRule =>
  newObject(OffloadingRule, {
    metadata: { name, uid: `uid-of-${name}`, ...more },
    spec: { namespaceSelector: { matchLabels } },
  });
const namespace = (name: string, labels: Record<string, string> = {}, more: object = {}): Namespace => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels, ...more },
});
const chosen = (object: Namespace, ...rules: OffloadingRule[]) => ruleFor(object, rules, "agents")?.metadata.name;
const deletionTimestamp = "2026-01-01T00:00:00Z";

describe("the rule that a namespace follows", () => {
  it("is one whose selector matches", () => {
    assert.equal(chosen(namespace("shop", { team: "a" }), rule("a", { team: "a" }), rule("b", { team: "b" })), "a");
    assert.equal(chosen(namespace("shop"), rule("a", { team: "a" })), undefined);
    assert.equal(chosen(namespace("shop"), rule("all")), "all");
  });

  it("is the first by name of several, in whatever order they come", () => {
    assert.equal(chosen(namespace("shop"), rule("b"), rule("a"), rule("c")), "a");
  });

  it("is none for the system's namespaces, the agent's, tenants and twins of others", () => {
    for (const name of ["kube-system", "kube-public", "kube-node-lease", "agents", "fjord-tenant-x"])
      assert.equal(chosen(namespace(name), rule("all")), undefined, name);
    assert.equal(chosen(namespace("shop-x", { "fjord.dev/consumer": "x" }), rule("all")), undefined);
    assert.equal(chosen(namespace("kube-system-2"), rule("all")), "all");
  });

  it("is none where either is being deleted", () => {
    assert.equal(chosen(namespace("shop", {}, { deletionTimestamp }), rule("all")), undefined);
    assert.equal(chosen(namespace("shop"), rule("all", {}, { deletionTimestamp })), undefined);
  });
});

describe("a rule's Offloading", () => {
  it("says which rule made it, and is that rule's until its label is taken away", () => {
    const made = forgeOffloading(rule("all"), "shop");
    assert.equal(madeByRule(made)?.name, "all");
    assert.ok(isMadeFor(made, rule("all")));
    const takenOver = { ...made, metadata: { ...made.metadata, labels: {} } };
    assert.equal(madeByRule(takenOver), undefined);
    const own = newObject(Offloading, { metadata: { name: "offloading", namespace: "shop" } });
    assert.equal(madeByRule(own), undefined);
  });

  it("is another where the rule says something else, or is another rule of the name", () => {
    const made = forgeOffloading(rule("all"), "shop");
    const changed = rule("all");
    assert.ok(
      !isMadeFor(made, {
        ...changed,
        spec: { ...changed.spec, template: { ...changed.spec.template, pods: "Remote" } },
      }),
    );
    assert.ok(!isMadeFor(made, rule("all", {}, { uid: "another" })));
  });

  it("has a label that fits, however long the rule's name", () => {
    const { metadata } = forgeOffloading(rule("r".repeat(253)), "shop");
    assert.match(metadata.labels?.["fjord.dev/offloading-rule"] ?? "", /^r{54}-[0-9a-f]{8}$/);
  });
});
