import assert from "node:assert/strict";
import { test } from "node:test";
import { labelValue, qualifiedName } from "./label.ts";
import {
  configMapKey,
  dns1035Label,
  dnsLabel,
  dnsSubdomain,
  environmentName,
  maskTrailingDash,
  pathSegment,
  percentText,
  wildcardDnsSubdomain,
} from "./name.ts";
import { portName, portNumber } from "./port.ts";

const rules = {
  dnsLabel: [dnsLabel, ["a", "1", "a-b", "a".repeat(63)], ["", "A", "a.b", "-a", "a-", "a_b", "a".repeat(64)]],
  dnsSubdomain: [dnsSubdomain, ["a.b", "1.2", "a".repeat(253)], ["", "a..b", ".a", "A.b", "a_b", "a".repeat(254)]],
  dns1035Label: [dns1035Label, ["a", "a1-b"], ["1a", "a.b", "", "A"]],
  wildcardDnsSubdomain: [wildcardDnsSubdomain, ["*.a", "*.a.b"], ["*", "a.*", "*.*.a", "a"]],
  configMapKey: [configMapKey, ["a", ".a", "A_b.c-d"], ["", "a/b", ".", "..", "..a", "a b"]],
  environmentName: [environmentName, ["A", "a.b-c", "1", " x"], ["", "a=b", "ä"]],
  pathSegment: [pathSegment, ["a:b", "A b"], [".", "..", "a/b", "a%b"]],
  percentText: [percentText, ["0%", "150%"], ["%", "1", "-1%", "1.5%"]],
  qualifiedName: [qualifiedName, ["a", "a.b/c_d", "A"], ["", "/a", "a/", "a/b/c", "A_/b", "-a", "a".repeat(64)]],
  labelValue: [labelValue, ["", "a", "A.b_c-d"], ["-a", "a b", "a".repeat(64)]],
  portName: [portName, ["http", "a1", "1a"], ["", "1", "A", "a--b", "-a", "a-", "a".repeat(16)]],
} as const;

for (const [name, [rule, good, bad]] of Object.entries(rules)) {
  test(`${name} takes what Kubernetes takes`, () => {
    for (const text of good) assert.deepEqual(rule(text), [], text);
    for (const text of bad) assert.notDeepEqual(rule(text), [], text);
  });
}

test("texts are Kubernetes' own", () => {
  assert.deepEqual(dnsLabel("a.b"), ["must not contain dots"]);
  assert.deepEqual(dnsLabel("a".repeat(64)), ["must be no more than 63 characters"]);
  assert.deepEqual(dnsLabel("A"), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
  assert.deepEqual(qualifiedName("a".repeat(64)), ["name part must be no more than 63 bytes"]);
  assert.deepEqual(pathSegment("a/b%"), ["may not contain '/'", "may not contain '%'"]);
  assert.deepEqual(portName("A--"), [
    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    "must contain at least one letter (a-z)",
    "must not contain consecutive hyphens",
    "must not begin or end with a hyphen",
  ]);
  assert.deepEqual(portNumber(0), ["must be between 1 and 65535, inclusive"]);
});

test("a dash at the end of a prefix is not the end of a name", () => {
  assert.equal(maskTrailingDash("web-"), "wea");
  assert.equal(maskTrailingDash("web"), "web");
  assert.equal(maskTrailingDash("-"), "-");
});
