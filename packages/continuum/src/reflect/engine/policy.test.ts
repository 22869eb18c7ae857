import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Offloading, Site } from "@fjord/api";
import { ConfigMap, Service } from "@fjord/kube";
import { mayHaveTwin, policyFor } from "./policy.ts";

const site = (...reflection: object[]) => ({ spec: { reflection } }) as unknown as Site;
const offloading = (...reflection: object[]) => ({ spec: { reflection } }) as unknown as Offloading;
const rule = (resource: string, policy: string, group = "") => ({ group, resource, policy });

describe("rules of reflection", () => {
  it("go before what is usual, the namespace's before the site's", () => {
    assert.equal(policyFor(ConfigMap, "Referenced", undefined, undefined), "Referenced");
    assert.equal(policyFor(ConfigMap, "Referenced", undefined, site(rule("configmaps", "DenyList"))), "DenyList");
    const both = [offloading(rule("configmaps", "Never")), site(rule("configmaps", "DenyList"))] as const;
    assert.equal(policyFor(ConfigMap, "Referenced", ...both), "Never");
    assert.equal(policyFor(Service, "DenyList", ...both), "DenyList");
    assert.equal(policyFor(Service, "DenyList", undefined, site(rule("services", "Never", "example.com"))), "DenyList");
  });

  it("decide with the object's own wish", () => {
    const object = (wish?: string) => ({
      apiVersion: "v1",
      kind: "X",
      metadata: wish === undefined ? {} : { annotations: { "fjord.dev/reflect": wish } },
    });
    const yes = () => true;
    const no = () => false;
    assert.equal(mayHaveTwin("DenyList", object(), no), true);
    assert.equal(mayHaveTwin("DenyList", object("false"), no), false);
    assert.equal(mayHaveTwin("AllowList", object(), yes), false);
    assert.equal(mayHaveTwin("AllowList", object("true"), no), true);
    assert.equal(mayHaveTwin("Never", object("true"), yes), false);
    assert.equal(mayHaveTwin("Referenced", object(), yes), true);
    assert.equal(mayHaveTwin("Referenced", object(), no), false);
    assert.equal(mayHaveTwin("Referenced", object("true"), no), true);
    assert.equal(mayHaveTwin("Referenced", object("false"), yes), false);
  });
});
