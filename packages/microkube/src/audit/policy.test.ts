import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attributes } from "../authorization/authorizer.ts";
import { type AuditRule, decide } from "./policy.ts";
import { problemsOf } from "./read-policy.ts";

const caller = { user: "bob", groups: ["team", "system:authenticated"] };
const get = (of: Partial<Extract<Attributes, { resource: string }>>): Attributes => ({
  ...{ verb: "get", group: "", version: "v1", resource: "pods", subresource: "", namespace: "shop", name: "web" },
  ...of,
});
const log = get({ subresource: "log" });
const path = { verb: "get", path: "/metrics/cadvisor" };

const cases: readonly [rule: Omit<AuditRule, "level">, fits: readonly Attributes[], not: readonly Attributes[]][] = [
  [{}, [log, path], []],
  [{ users: ["bob"], userGroups: ["team"] }, [log, path], []],
  [{ users: ["alice"] }, [], [log, path]],
  [{ userGroups: ["others"] }, [], [log, path]],
  [{ verbs: ["list"] }, [get({ verb: "list" })], [log, path]],
  [{ namespaces: ["shop"] }, [log], [get({ namespace: "other" }), path]],
  [{ namespaces: [""] }, [get({ resource: "nodes", namespace: "" })], [log]],
  [{ resources: [{ group: "" }] }, [log], [get({ group: "apps" }), path]],
  [{ resources: [{ resources: ["pods"] }] }, [get({})], [log]],
  [{ resources: [{ resources: ["pods/log"] }] }, [log], [get({}), get({ subresource: "status" })]],
  [{ resources: [{ resources: ["pods/*"] }] }, [log, get({})], [get({ resource: "services", subresource: "log" })]],
  [{ resources: [{ resources: ["*/log"] }] }, [log], [get({}), get({ subresource: "status" })]],
  [{ resources: [{ resources: ["*"] }] }, [log, get({})], [get({ group: "apps" })]],
  [{ resources: [{ resources: ["pods"], resourceNames: ["web"] }] }, [get({})], [get({ name: "db" })]],
  [{ nonResourceURLs: ["/metrics*"] }, [path], [get({}), { verb: "get", path: "/version" }]],
  [{ nonResourceURLs: ["*"] }, [path], [get({})]],
];

test("a rule fits what it names", () => {
  for (const [rule, fits, not] of cases) {
    const policy = { rules: [{ level: "Metadata", ...rule } as const] };
    const level = (attributes: Attributes) => decide(policy, caller, attributes).level;
    assert.deepEqual(
      [fits.map(level), not.map(level)],
      [fits.map(() => "Metadata"), not.map(() => "None")],
      JSON.stringify(rule),
    );
  }
});

test("the first rule that fits decides, with the stages that the whole leaves out", () => {
  const rules = [
    { level: "None", verbs: ["watch"] },
    { level: "Request", omitStages: ["ResponseStarted"] },
  ] as const;
  const policy = { rules, omitStages: ["RequestReceived"], omitManagedFields: true } as const;
  const decision = decide(policy, undefined, log);
  assert.deepEqual(
    [decision.level, [...decision.omitStages], decision.omitManagedFields],
    ["Request", ["RequestReceived", "ResponseStarted"], true],
  );
  assert.equal(decide(policy, undefined, get({ verb: "watch" })).level, "None");
});

test("a policy that cannot be followed is told of", () => {
  const policy = (...rules: unknown[]) => ({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules });
  const problem = (value: unknown) => problemsOf(value)[0] ?? "";
  assert.equal(problem(policy({ level: "Metadata", resources: [{ group: "apps", resources: ["deployments"] }] })), "");
  assert.match(problem(undefined), /no object/);
  assert.match(
    problem({ ...policy({ level: "None" }), apiVersion: "audit.k8s.io/v1beta1" }),
    /no Policy of audit.k8s.io/,
  );
  assert.match(problem(policy()), /no rules/);
  assert.match(problem(policy({})), /rules\[0\]\.level has to be one of None, Metadata/);
  assert.match(problem(policy({ level: "None", stages: [] })), /rules\[0\]\.stages is unknown/);
  assert.match(problem(policy({ level: "None", omitStages: ["Later"] })), /omitStages/);
  assert.match(problem(policy({ level: "None", users: "bob" })), /users is no list of texts/);
  assert.match(problem(policy({ level: "None", namespaces: ["a"], nonResourceURLs: ["/a"] })), /one of them/);
  assert.match(problem(policy({ level: "None", nonResourceURLs: ["/a*b"] })), /\* before its end/);
  assert.match(problem(policy({ level: "None", resources: [{ group: "apps/v1" }] })), /without a version/);
  assert.match(problem(policy({ level: "None", resources: [{ resourceNames: ["a"] }] })), /without resources/);
});
