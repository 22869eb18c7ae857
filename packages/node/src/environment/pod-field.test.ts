import assert from "node:assert/strict";
import { test } from "node:test";
import { testFacts, testPod } from "../volumes/testing/pods.ts";
import { formatMap, podField, quote } from "./pod-field.ts";

const pod = testPod({ serviceAccountName: "robot" });
pod.metadata.labels = { app: "web", "example.com/tier": "front", zone: 'a"b' };
pod.metadata.annotations = { note: "line one\nline two", "odd']key": "x" };

test("fields of a pod are given as the downward API does", () => {
  const cases: [string, string][] = [
    ["metadata.name", "web"],
    ["metadata.namespace", "test"],
    ["metadata.uid", "0a1b2c3d-0000-4000-8000-000000000001"],
    ["metadata.labels['app']", "web"],
    ["metadata.labels['example.com/tier']", "front"],
    ["metadata.labels['missing']", ""],
    ["metadata.labels['constructor']", ""],
    ["metadata.annotations['note']", "line one\nline two"],
    ["metadata.labels", 'app="web"\nexample.com/tier="front"\nzone="a\\"b"'],
    ["metadata.annotations", 'note="line one\\nline two"\nodd\']key="x"'],
    ["spec.nodeName", "node-1"],
    ["spec.serviceAccountName", "robot"],
    ["status.hostIP", "192.168.7.1"],
    ["status.hostIPs", "192.168.7.1"],
    ["status.podIP", "10.1.2.3"],
    ["status.podIPs", "10.1.2.3,fd00::3"],
  ];
  for (const [path, value] of cases) assert.equal(podField(pod, path, testFacts), value, path);
});

test("fields that are not offered are refused", () => {
  for (const path of ["", "metadata", "spec.containers", "metadata.name['x']", "status.phase", "__proto__"]) {
    assert.throws(() => podField(pod, path, testFacts), { code: "UNSUPPORTED_FIELD" });
  }
});

test("values are quoted as readers of these files expect", () => {
  const cases: [string, string][] = [
    ["", '""'],
    ["plain", '"plain"'],
    ['say "hi"', '"say \\"hi\\""'],
    ["back\\slash", '"back\\\\slash"'],
    ["\t\r\n\u0007\u0001\u007f", '"\\t\\r\\n\\a\\x01\\x7f"'],
    ["grün €", '"grün €"'],
    ["\u00a0", '"\\u00a0"'],
    ["\u{1F600}", '"\u{1F600}"'],
    ["\u{e0001}", '"\\U000e0001"'],
  ];
  for (const [text, quoted] of cases) assert.equal(quote(text), quoted);
});

test("maps are sorted by key and end without a new line", () => {
  assert.equal(formatMap({ b: "2", a: "1", A: "0" }), 'A="0"\na="1"\nb="2"');
  assert.equal(formatMap({}), "");
});
