import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hostProblem } from "./host-policy.ts";

const may = (host: string, allowed?: string[], taken: string[] = []) =>
  hostProblem(host, allowed, new Set(taken)) === undefined;

describe("a host of a consumer's Ingress", () => {
  test("may be any name where the owner says nothing, and no wildcard", () => {
    assert.ok(may("shop.example.com"));
    assert.ok(!may("*.example.com"));
    assert.ok(!may("*"));
  });

  test("must be among those that the owner allows", () => {
    const allowed = ["shop.example.com", "*.tenants.example.com"];
    assert.ok(may("shop.example.com", allowed));
    assert.ok(may("a.tenants.example.com", allowed));
    assert.ok(may("a.b.tenants.example.com", allowed));
    assert.ok(may("*.tenants.example.com", allowed));
    assert.ok(may("*.b.tenants.example.com", allowed));
    for (const host of ["tenants.example.com", "eviltenants.example.com", "*.example.com", "*", "a.shop.example.com"])
      assert.ok(!may(host, allowed), host);
    assert.ok(!may("shop.example.com", []));
    for (const host of ["shop.example.com", "*.example.com", "*"]) assert.ok(may(host, ["*"]), host);
  });

  test("is never one that another's Ingress has", () => {
    const taken = ["www.example.com", "*.wild.example.com"];
    for (const allowed of [undefined, ["*"], ["*.example.com"]]) {
      assert.ok(!may("www.example.com", allowed, taken));
      assert.ok(may("shop.example.com", allowed, taken));
      assert.ok(!may("*.wild.example.com", allowed, taken));
    }
    assert.ok(may("*", ["*"], ["*"]));
  });

  test("is below another's wildcard only where the owner says so", () => {
    const taken = ["*.example.com"];
    assert.ok(!may("a.example.com", undefined, taken));
    assert.ok(!may("a.b.example.com", undefined, taken));
    assert.ok(may("example.com", undefined, taken));
    assert.ok(may("a.example.com", ["*.example.com"], taken));
  });

  test("is refused in words that say what to do", () => {
    assert.equal(
      hostProblem("*", undefined, new Set()),
      "an Ingress for all hosts (by a rule without one, a default backend, or an annotation that may mean any) is not for consumers unless it is allowed: ask the provider's owner for it in sharing.objects.ingressHosts of the Site",
    );
    assert.match(hostProblem("a.b", ["c.d"], new Set()) ?? "", /^a\.b is not among the hosts .* \(c\.d\): ask /);
    assert.match(hostProblem("a.b", [], new Set()) ?? "", /\(none\)/);
    assert.equal(
      hostProblem("a.b", undefined, new Set(["a.b"])),
      "a.b is taken at the provider by another's Ingress: choose one",
    );
  });
});
