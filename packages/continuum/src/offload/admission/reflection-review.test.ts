import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Site } from "@fjord/api";
import type { KubeClient } from "@fjord/kube";
import { reviewReflection } from "./reflection-review.ts";

const rule = (resource: string, policy = "Never", group = "") => ({ group, resource, policy });
const boats = { group: "example.com", resource: "boats", policy: "DenyList" } as const;
const own = newObject(Site, { metadata: { name: "home" }, spec: { reflection: [boats] } });
const sites = [{ ...own, status: { role: "Self" } }];
const client = { list: async () => ({ items: sites, metadata: {} }) } as unknown as KubeClient;
const review = (given: unknown, before?: unknown) => reviewReflection(client, "spec.reflection", given, before);
const refusal = async (given: unknown, before?: unknown) => {
  const verdict = await review(given, before);
  return verdict.allowed ? undefined : verdict.message;
};

describe("rules of reflection in what is written", () => {
  it("pass where they are about what is reflected", async () => {
    assert.deepEqual(await review(undefined), { allowed: true });
    const rules = [rule("secrets"), rule("events"), rule("boats", "Never", "example.com")];
    assert.deepEqual(await review(rules), { allowed: true });
  });

  it("are refused where they would hold nothing back, with what would let them pass", async () => {
    const said = await refusal([rule("services"), rule("secret")]);
    assert.match(
      said ?? "",
      /^spec\.reflection\[1\] has no effect: .*no secret .*\(did you mean secrets\?\)\. Name one of /,
    );
    assert.match((await refusal([rule("ingresses", "DenyList", "apps")])) ?? "", /did you mean ingresses\.networking/);
    assert.match(
      (await refusal([rule("boat", "Never", "example.com")])) ?? "",
      /did you mean boats\.example\.com\?.*List it/,
    );
    assert.match((await refusal([rule("rafts", "AllowList", "example.com")])) ?? "", /the own Site lists no rafts/);
    // Without a group, as where it is left out.
    assert.match((await refusal([{ resource: "secret", policy: "Never" }])) ?? "", /did you mean secrets/);
  });

  it("pass with a warning where they let go what may be listed later", async () => {
    const verdict = await review([rule("rafts", "DenyList", "example.com")]);
    assert.ok(verdict.allowed);
    assert.match(verdict.warnings?.[0] ?? "", /the own Site lists no rafts\.example\.com/);
  });

  it("hold up no other change once they are stored", async () => {
    assert.equal(await refusal([rule("secret")], [rule("secret")]), undefined);
    assert.notEqual(await refusal([rule("secret"), rule("services")], [rule("secret")]), undefined);
  });

  it("are left to the schema where they are none", async () => {
    for (const odd of [
      "x",
      7,
      {},
      [null],
      [7],
      [{ resource: 1 }],
      [{ group: 1, resource: "secret" }],
      [rule("x".repeat(64))],
    ])
      assert.equal(await refusal(odd), undefined, JSON.stringify(odd));
  });
});
