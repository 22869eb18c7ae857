import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SITE_LABEL } from "@fjord/api";
import {
  OUTSIDE_NAMESPACE,
  TEST_NAMESPACE,
  TEST_NAMESPACES,
  testOffloading,
  testPod,
  testPolicy,
  testService,
} from "./trial-objects.ts";
import type { TestPlace } from "./trial-places.ts";

const home: TestPlace = {
  id: "a".repeat(26),
  site: "harbor",
  name: "at-harbor",
  place: "home",
  resources: { requests: { cpu: "20m" } },
  isProcess: false,
};
const away: TestPlace = { ...home, id: "b".repeat(26), site: "wave", name: "at-wave", place: { site: "b".repeat(26) } };

describe("what a test makes", () => {
  it("is in namespaces whose twins every provider gives their names", () => {
    // Those that begin so are kept by providers for themselves (docs/offloading.md).
    for (const name of TEST_NAMESPACES) assert.doesNotMatch(name, /^(kube|fjord|openshift)-|-system$/);
  });

  it("goes to the sites that are tested, and to no others", () => {
    const { spec } = testOffloading(TEST_NAMESPACE, [home, away]);
    assert.deepEqual(spec.sites.matchExpressions, [{ key: SITE_LABEL, operator: "In", values: [away.id] }]);
  });

  it("has a pod at each place, and a Service that only the one there answers for", () => {
    const terms = (place: TestPlace) =>
      testPod(TEST_NAMESPACE, place, "busybox:1").spec?.affinity?.nodeAffinity
        ?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]?.matchExpressions;
    assert.deepEqual(terms(home), [{ key: SITE_LABEL, operator: "DoesNotExist" }]);
    assert.deepEqual(terms(away), [{ key: SITE_LABEL, operator: "In", values: [away.id] }]);
    const selector = testService(away).spec?.selector ?? {};
    const matches = (place: TestPlace) =>
      Object.entries(selector).every(
        ([key, value]) => testPod(TEST_NAMESPACE, place, "i").metadata.labels?.[key] === value,
      );
    assert.deepEqual([matches(home), matches(away)], [false, true]);
  });

  it("asks for no privileges at all, but where pods are processes of their node's user", () => {
    const { spec } = testPod(TEST_NAMESPACE, home, "busybox:1");
    assert.equal(spec?.securityContext?.runAsNonRoot, true);
    assert.deepEqual(spec?.containers[0]?.securityContext?.capabilities?.drop, ["ALL"]);
    assert.equal(spec?.automountServiceAccountToken, false);
    const process = testPod(TEST_NAMESPACE, { ...home, isProcess: true }, "none").spec;
    assert.deepEqual([process?.securityContext, process?.containers[0]?.securityContext], [undefined, undefined]);
  });

  it("lets pods and outsiders in by a policy at one port alone, so that links keep outsiders out", () => {
    const [rule, ...others] = testPolicy().spec?.ingress ?? [];
    assert.deepEqual([rule?.ports?.map(({ port }) => port), others], [[8080], []]);
    assert.equal(rule?.from?.[1]?.namespaceSelector?.matchLabels?.["kubernetes.io/metadata.name"], OUTSIDE_NAMESPACE);
  });
});
