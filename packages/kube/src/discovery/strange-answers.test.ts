import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KubeClient } from "../client/client.ts";
import { objectPath } from "../client/resource-path.ts";
import { reply, testServer } from "../transport/test-server.ts";
import { aggregatedSurface, legacyResources } from "./api-resource.ts";
import { Discovery } from "./discovery.ts";

async function discoveryOf(answers: (url: string) => unknown) {
  const server = await testServer(({ url }, response) => reply(response, 200, answers(url)));
  const client = new KubeClient({ server: server.url, namespace: "a", tls: {} });
  return {
    server,
    discovery: new Discovery(client),
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("an answer that is no object is a connection error", async () => {
  for (const answer of [null, 5, []]) {
    await using t = await discoveryOf(() => answer);
    await assert.rejects(t.discovery.resolve("pods"), { name: "ConnectionError" });
    await assert.rejects(t.discovery.serverVersion(), { name: "ConnectionError" });
  }
});

test("kinds whose words would lead elsewhere are not served", async () => {
  const resources = ["../../api/v1/secrets?x=", "..", "a/b", "a?b"].map((resource) => ({
    resource,
    responseKind: { kind: "Evil" },
    scope: "Cluster",
  }));
  const versions = [{ version: "v1", resources }];
  const evil = [{ version: "../..", resources: [{ resource: "evils", responseKind: { kind: "Evil" } }] }];
  const items = [
    { metadata: { name: "x" }, versions: [...versions, ...evil] },
    { metadata: { name: "../.." }, versions },
  ];
  await using t = await discoveryOf(() => ({ kind: "APIGroupDiscoveryList", items }));
  await assert.rejects(t.discovery.resolve("Evil"), { code: "KUBE_KIND_NOT_SERVED" });
});

test("a server cannot name paths to be asked for", async () => {
  await using t = await discoveryOf((url) => {
    if (url === "/api") return { kind: "APIVersions", versions: ["../x", 5, null, "v1"] };
    if (url !== "/apis") return null;
    const groupVersions = ["apps/v1", "a/../../b", "v1", "a/b?c"].map((groupVersion) => ({ groupVersion }));
    return { kind: "APIGroupList", groups: [null, { versions: null }, { versions: groupVersions }] };
  });
  const { unanswered } = await t.discovery.surface();
  assert.deepEqual(t.server.requests.map(({ url }) => url).sort(), ["/api", "/api/v1", "/apis", "/apis/apps/v1"]);
  assert.equal(unanswered.length, 2);
});

test("whatever a server answers, the kinds taken from it have paths", () => {
  const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom("v1", "apps", "pods", "..", "a/b"));
  const resource = fc.record({ resource: odd, responseKind: fc.oneof(odd, fc.record({ kind: odd })), shortNames: odd });
  const version = fc.record({ version: odd, resources: fc.oneof(odd, fc.array(resource)), freshness: odd });
  const item = fc.record({ metadata: fc.record({ name: odd }), versions: fc.oneof(odd, fc.array(version)) });
  const legacy = fc.record({ name: odd, kind: odd, namespaced: odd, verbs: odd });
  fc.assert(
    fc.property(
      fc.oneof(odd, fc.array(item)),
      odd,
      fc.oneof(odd, fc.array(legacy)),
      (items, groupVersion, resources) => {
        const found = [...aggregatedSurface({ items }).resources, ...legacyResources({ groupVersion, resources })];
        for (const { kind, shortNames } of found) {
          assert.ok(objectPath(kind, { name: "x", namespace: kind.namespaced ? "n" : undefined }).endsWith("/x"));
          assert.ok(shortNames.every((name) => typeof name === "string"));
        }
      },
    ),
  );
});
