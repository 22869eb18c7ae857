import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterConfig } from "../config/direct-config.ts";
import { ClusterConfigInvalid, ImpersonationInvalid } from "../config/errors.ts";
import type { Impersonation } from "../config/impersonation.ts";
import { Pod } from "../kinds/index.ts";
import { startStreamServer } from "../stream/test-stream-server.ts";
import { reply, testServer } from "../transport/test-server.ts";
import { KubeClient } from "./client.ts";

const root = { user: "root", groups: ["system:masters"], uid: "0", extra: { scopes: ["all"] } };

function identity(headers: NodeJS.Dict<string | string[]> | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => name.startsWith("impersonate-")));
}

test("whoever is impersonated last is impersonated alone, over the client's own, the options' and the config's", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  const plain = new KubeClient(clusterConfig({ server: server.url }));
  const configured = new KubeClient(clusterConfig({ server: server.url, impersonate: root }));
  const headers = { "impersonate-user": "root", "IMPERSONATE-GROUP": ["system:masters"] };
  const optioned = new KubeClient(clusterConfig({ server: server.url }), { headers });
  for (const client of [plain.impersonating(root), configured, optioned]) {
    await client.impersonating({ user: "bob" }).get(Pod, { name: "web" });
    assert.deepEqual(identity(server.requests.at(-1)?.headers), { "impersonate-user": "bob" });
  }
  await configured.raw("GET", "/x", { headers: { "impersonate-user": "bob" } });
  assert.deepEqual(identity(server.requests.at(-1)?.headers), { "impersonate-user": "bob" });
  for (const client of [plain, configured, optioned]) await client.close();
});

test("streams act as the same one identity", async () => {
  const seen: Record<string, unknown>[] = [];
  await using server = await startStreamServer({
    serve(stream) {
      seen.push(identity(stream.request.headers));
      stream.exit(0);
    },
  });
  await using client = new KubeClient(clusterConfig({ server: server.url, impersonate: root }));
  const bob = client.impersonating({ user: "ann", groups: ["a"] }).impersonating({ user: "bob" });
  await bob.exec({ name: "web" }, { command: ["id"] });
  assert.deepEqual(seen, [{ "impersonate-user": "bob" }]);
});

test("refuses an identity that a server would read as another, or as the caller's own", async () => {
  await using server = await testServer((_, response) => reply(response, 200, {}));
  await using client = new KubeClient(clusterConfig({ server: server.url }));
  const wrong: Impersonation[] = ["", " ", "\t", "bob ", " bob", "a\r\nX-Evil: 1", "a\0", "\ud800", undefined as never]
    .flatMap((text) => [{ user: text }, { user: "a", groups: ["b", text] }, { user: "a", uid: text }])
    .filter(({ user, uid, groups }) => user !== "a" || uid !== undefined || groups !== undefined);
  wrong.push({ user: "a", extra: { "": ["b"] } }, { user: "a", extra: { b: ["c\r\nX-Evil: 1"] } });
  for (const who of wrong) {
    assert.throws(() => client.impersonating(who), ImpersonationInvalid, JSON.stringify(who));
    assert.throws(() => clusterConfig({ server: server.url, impersonate: who }), ImpersonationInvalid);
  }
  assert.equal(server.requests.length, 0);
});

test("refuses a configuration that names two identities", () => {
  assert.throws(
    () => clusterConfig({ server: "https://a", impersonate: root, headers: { "impersonate-user": "bob" } }),
    (error) => error instanceof ClusterConfigInvalid && /impersonate-user cannot stand together/.test(error.message),
  );
});
