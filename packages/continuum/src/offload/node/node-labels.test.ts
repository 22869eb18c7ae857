import assert from "node:assert/strict";
import { test } from "node:test";
import { PROPERTY_PREFIX } from "@fjord/api";
import fc from "fast-check";
import { forgeLabels, onlyOne } from "./node-labels.ts";
import { contractOf, PROVIDER, virtualNodeOf } from "./test-objects.ts";

type Published = Parameters<typeof forgeLabels>[2];
const labelsOf = (published: unknown, spec = {}) =>
  forgeLabels(virtualNodeOf(spec), contractOf(), published as Published);
const allOf = (published: unknown, spec = {}) => {
  const { own, published: said } = labelsOf(published, spec);
  return { ...said, ...own };
};

test("a node says where and what its provider is", () => {
  const location = { region: "eu-north", zone: "fjord-1" };
  const published = { architectures: ["arm64"], operatingSystems: ["linux"], tier: "edge", location };
  assert.deepEqual(labelsOf(published), {
    own: {
      "kubernetes.io/hostname": "lively-wave",
      "kubernetes.io/os": "linux",
      "kubernetes.io/arch": "arm64",
      "topology.kubernetes.io/region": "eu-north",
      "topology.kubernetes.io/zone": "fjord-1",
      "fjord.dev/tier": "edge",
      "fjord.dev/site": PROVIDER,
      "fjord.dev/virtual-node": "true",
      "node.kubernetes.io/exclude-from-external-load-balancers": "true",
    },
    published: {},
  });
});

test("a provider of which nothing is known has the labels of any virtual node", () => {
  const { own, published } = labelsOf(undefined);
  assert.deepEqual(published, {});
  assert.equal(own["kubernetes.io/os"], "linux");
  assert.equal("kubernetes.io/arch" in own, false);
});

test("a label that says one thing cannot say two", () => {
  assert.equal("kubernetes.io/arch" in allOf({ architectures: ["amd64", "arm64"] }), false);
  assert.equal(allOf({ architectures: ["amd64", "amd64"] })["kubernetes.io/arch"], "amd64");
  assert.equal(onlyOne([]), undefined);
});

test("properties become labels, under a prefix of their own where they have none", () => {
  const properties = { green: "yes", "example.com/rack": "7", empty: "" };
  assert.deepEqual(labelsOf({ properties }).published, {
    "property.fjord.dev/green": "yes",
    "example.com/rack": "7",
    "property.fjord.dev/empty": "",
  });
});

for (const property of [
  "kubernetes.io/hostname",
  "kubernetes.io/arch",
  "node-role.kubernetes.io/control-plane",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/zone",
  "k8s.io/anything",
  "kops.k8s.io/instancegroup",
  "fjord.dev/site",
  "fjord.dev/virtual-node",
  "sub.fjord.dev/x",
]) {
  test(`a provider cannot set ${property}`, () => {
    const { published, own } = labelsOf({ properties: { [property]: "evil" } });
    assert.equal(property in published, false);
    assert.notEqual(own[property], "evil");
    assert.deepEqual(Object.keys(published), [`${PROPERTY_PREFIX}${property.slice(property.indexOf("/") + 1)}`]);
  });
}

test("names that only look reserved are the provider's own", () => {
  const { published } = labelsOf({ properties: { "notkubernetes.io/a": "1", "myfjord.dev/b": "2" } });
  assert.deepEqual(published, { "notkubernetes.io/a": "1", "myfjord.dev/b": "2" });
});

test("what cannot be a label is left out, so that the Node can be written", () => {
  const properties = {
    "a b": "1",
    "x/y/z": "1",
    "-a": "1",
    "EXAMPLE.com/a": "1",
    fine: "a b",
    long: "v".repeat(64),
    ["k".repeat(64)]: "1",
    [`${"d".repeat(254)}/a`]: "1",
    number: 7,
  };
  assert.deepEqual(labelsOf({ properties }).published, {});
  const strange = { architectures: ["a b"], operatingSystems: ["<script>"], tier: "a/b", location: { region: "é" } };
  const { own } = labelsOf(strange);
  for (const key of ["kubernetes.io/arch", "fjord.dev/tier", "topology.kubernetes.io/region"])
    assert.equal(key in own, false, key);
  assert.equal(own["kubernetes.io/os"], "linux");
});

test("no provider can make a Node too large", () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, "v"]));
  assert.equal(Object.keys(labelsOf({ properties: many }).published).length, 64);
});

test("what the owner says goes before what the provider says", () => {
  const properties = { "example.com/rack": "theirs" };
  assert.equal(allOf({ properties }, { labels: { "example.com/rack": "ours" } })["example.com/rack"], "ours");
  assert.equal(allOf({}, { labels: { "kubernetes.io/hostname": "other" } })["kubernetes.io/hostname"], "lively-wave");
});

test("whatever a provider says, its labels are valid and none is Kubernetes' or Fjord's", () => {
  const key = /^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
  const words = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[a-z.]{0,20}(kubernetes\.io|k8s\.io|fjord\.dev)\/[a-z]{1,9}$/),
  );
  fc.assert(
    fc.property(fc.dictionary(words, fc.anything()), (properties) => {
      for (const [label, value] of Object.entries(labelsOf({ properties }).published)) {
        assert.match(label, key);
        assert.match(value, /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/);
        const prefix = label.slice(0, Math.max(0, label.indexOf("/")));
        if (!label.startsWith(PROPERTY_PREFIX))
          assert.doesNotMatch(prefix, /(^|\.)(kubernetes\.io|k8s\.io|fjord\.dev)$/);
      }
    }),
  );
});
