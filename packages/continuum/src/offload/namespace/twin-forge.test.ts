import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forgeBinding, forgeTwin, gives, isTwin, nameRefusal } from "./twin-forge.ts";

const CONSUMER = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const OTHER = "a".repeat(26);

describe("a twin namespace", () => {
  it("is told from others by whose it is and whose twin it is", () => {
    const twin = forgeTwin("shop-x", CONSUMER, "shop", {});
    assert.ok(isTwin(twin, CONSUMER, "shop"));
    assert.ok(!isTwin(twin, OTHER, "shop"));
    assert.ok(!isTwin(twin, CONSUMER, "other"));
    assert.ok(!isTwin({ ...twin, metadata: { name: "shop-x" } }, CONSUMER, "shop"));
  });

  it("has what the provider's owner adds, but is nobody else's for it", () => {
    const labels = { "pod-security.kubernetes.io/enforce": "baseline", "fjord.dev/consumer": OTHER };
    const twin = forgeTwin("shop-x", CONSUMER, "shop", labels);
    assert.equal(twin.metadata.labels?.["pod-security.kubernetes.io/enforce"], "baseline");
    assert.ok(isTwin(twin, CONSUMER, "shop"));
  });

  it("does not get a name that means something here", () => {
    for (const name of [
      "default",
      "kube-system",
      "kube-x",
      "fjord-system",
      "fjord-tenant-x",
      "openshift-x",
      "agents",
      "istio-system",
    ])
      assert.match(nameRefusal(name, CONSUMER, "agents") ?? "", /keeps for itself/, name);
    for (const name of [
      "shop",
      `shop-${CONSUMER}`,
      "kubeless",
      "fjords",
      "systems",
      `istio-system-${CONSUMER}`,
      `shop-${"a".repeat(25)}`,
    ])
      assert.equal(nameRefusal(name, CONSUMER, "agents"), undefined, name);
  });

  it("does not get the name that another site's twin would have", () => {
    assert.match(nameRefusal(`shop-${OTHER}`, CONSUMER, "agents") ?? "", /id of another site/);
  });

  it("gives its consumer one role, no more and no less", () => {
    const wanted = forgeBinding("shop-x", CONSUMER, "shop", "fjord-tenant");
    assert.ok(gives(wanted, wanted));
    assert.ok(!gives({ ...wanted, subjects: [] }, wanted));
    assert.ok(!gives({ ...wanted, roleRef: { ...wanted.roleRef, name: "cluster-admin" } }, wanted));
    const more = { kind: "User", name: "mallory", apiGroup: "rbac.authorization.k8s.io" };
    assert.ok(!gives({ ...wanted, subjects: [...(wanted.subjects ?? []), more] }, wanted));
  });
});
