import assert from "node:assert/strict";
import { createServer } from "node:http";
import { request as tlsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { type KubernetesMinor, kubernetesSkip } from "@fjord/testbed/testing";
import {
  ClusterRole,
  ConfigMap,
  Deployment,
  Namespace,
  Pod,
  Role,
  RoleBinding,
  SelfSubjectReview,
} from "../kinds/index.ts";
import * as errors from "./api-error.ts";
import { KubeClient } from "./client.ts";
import type { WatchEvent } from "./interfaces.ts";

for (const kubernetes of ["1.36", "1.35"] satisfies KubernetesMinor[]) {
  describe(`a client of Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes) }, () => tests(kubernetes));
}

function tests(kubernetes: KubernetesMinor): void {
  let site: SharedTestSite;
  let client: KubeClient;
  const warnings: string[] = [];
  let count = 0;

  before(async () => {
    site = await sharedTestSite({ kubernetes });
    client = new KubeClient(site.config, { onWarning: (warning) => warnings.push(warning) });
  });
  after(async () => {
    await client?.close();
  });

  /** A namespace of the test's own. */
  async function namespace(): Promise<string> {
    const name = `test-${++count}`;
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    return name;
  }

  function configMap(namespace: string, name: string, data: Record<string, string> = {}): ConfigMap {
    return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
  }

  function deployment(namespace: string, name: string): Deployment {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "busybox" }] } };
    const spec = { replicas: 2, selector: { matchLabels: labels }, template };
    return { apiVersion: "apps/v1", kind: "Deployment", metadata: { namespace, name }, spec };
  }

  test("creates, reads, replaces and deletes an object", async () => {
    const ns = await namespace();
    const created = await client.create(ConfigMap, configMap(ns, "a", { k: "1" }));
    assert.ok(created.metadata.uid);
    assert.deepEqual(await client.get(ConfigMap, { namespace: ns, name: "a" }), created);
    const updated = await client.update(ConfigMap, { ...created, data: { k: "2" } });
    assert.equal(updated.data?.k, "2");
    await client.delete(ConfigMap, { namespace: ns, name: "a" });
    await assert.rejects(client.get(ConfigMap, { namespace: ns, name: "a" }), (error) => {
      assert.equal(errors.isNotServed(error), false);
      assert.ok(errors.isNotFound(error));
      assert.equal(error.message, `cannot get ConfigMap ${ns}/a: configmaps "a" not found (404 NotFound)`);
      return true;
    });
  });

  test("refuses what exists, what is stale, what is invalid and what is not served", async () => {
    const ns = await namespace();
    const first = await client.create(ConfigMap, configMap(ns, "a"));
    await assert.rejects(client.create(ConfigMap, configMap(ns, "a")), errors.isAlreadyExists);
    await client.update(ConfigMap, { ...first, data: { k: "new" } });
    await assert.rejects(client.update(ConfigMap, { ...first, data: { k: "stale" } }), errors.isConflict);
    const wrong = deployment(ns, "b");
    await assert.rejects(
      client.create(Deployment, { ...wrong, spec: { ...wrong.spec, replicas: -1 } as never }),
      (error) => {
        assert.ok(errors.isInvalid(error));
        assert.equal(error.details.causes?.[0]?.field, "spec.replicas");
        return true;
      },
    );
    const boats = { group: "boats.example", version: "v1", kind: "Boat", plural: "boats", namespaced: true };
    await assert.rejects(client.list(boats), errors.isNotServed);
  });

  test("names objects for us, tries without doing, and warns or refuses as asked", async () => {
    const ns = await namespace();
    const named = { ...configMap(ns, "x"), metadata: { namespace: ns, generateName: "some-" } };
    assert.match((await client.create(ConfigMap, named)).metadata.name ?? "", /^some-\w{5}$/);
    await client.create(ConfigMap, configMap(ns, "dry"), { dryRun: true });
    await assert.rejects(client.get(ConfigMap, { namespace: ns, name: "dry" }), errors.isNotFound);
    const odd = { ...configMap(ns, "odd"), unknown: 1 };
    await client.create(ConfigMap, odd, { fieldValidation: "Warn", dryRun: true });
    assert.deepEqual(warnings.splice(0), ['unknown field "unknown"']);
    await assert.rejects(client.create(ConfigMap, odd, { fieldValidation: "Strict" }), /unknown field/);
  });

  test("deletes only what the preconditions name, and collections by label", async () => {
    const ns = await namespace();
    const { uid, resourceVersion } = (await client.create(ConfigMap, configMap(ns, "a"))).metadata;
    const key = { namespace: ns, name: "a" };
    await assert.rejects(client.delete(ConfigMap, key, { preconditions: { uid: "other" } }), errors.isConflict);
    await client.delete(ConfigMap, key, { preconditions: { uid, resourceVersion }, propagationPolicy: "Background" });
    for (const name of ["b", "c", "d"]) {
      const object = configMap(ns, name);
      object.metadata.labels = { keep: name === "d" ? "yes" : "no" };
      await client.create(ConfigMap, object);
    }
    await client.deleteCollection(ConfigMap, { namespace: ns, labelSelector: "keep=no" });
    const left = await client.list(ConfigMap, { namespace: ns });
    assert.deepEqual(
      left.items.map(({ metadata }) => metadata.name),
      ["d"],
    );
  });

  test("patches in all four ways", async () => {
    const ns = await namespace();
    await client.create(Deployment, deployment(ns, "a"));
    const key = { namespace: ns, name: "a" };
    const json = [{ op: "replace", path: "/spec/replicas", value: 3 }];
    assert.equal((await client.patch(Deployment, key, "json", json)).spec?.replicas, 3);
    const merge = { metadata: { labels: { x: "1" } }, spec: { replicas: null } };
    const merged = await client.patch(Deployment, key, "merge", merge);
    assert.deepEqual([merged.metadata.labels?.x, merged.spec?.replicas], ["1", 1]);
    const container = { name: "side", image: "busybox" };
    const strategic = { spec: { template: { spec: { containers: [container] } } } };
    const both = await client.patch(Deployment, key, "strategic", strategic);
    assert.deepEqual(both.spec?.template.spec?.containers.map(({ name }) => name).sort(), ["main", "side"]);
  });

  test("applies fields for two managers, who conflict until one takes over", async () => {
    const ns = await namespace();
    const mine = { ...configMap(ns, "a", { shared: "mine", own: "1" }) };
    await client.apply(ConfigMap, mine, { fieldManager: "one" });
    const theirs = { metadata: { namespace: ns, name: "a" }, data: { shared: "theirs" } };
    await assert.rejects(client.apply(ConfigMap, theirs, { fieldManager: "two" }), (error) => {
      assert.ok(errors.isConflict(error));
      assert.equal(error.details.causes?.[0]?.field, ".data.shared");
      return true;
    });
    const taken = await client.apply(ConfigMap, theirs, { fieldManager: "two", force: true });
    assert.deepEqual(taken.data, { shared: "theirs", own: "1" });
    const without = { metadata: { namespace: ns, name: "a" }, data: { shared: "theirs" } };
    assert.deepEqual((await client.apply(ConfigMap, without, { fieldManager: "one" })).data, { shared: "theirs" });
  });

  test("reads and writes status and scale apart from the object", async () => {
    const ns = await namespace();
    const created = await client.create(Deployment, deployment(ns, "a"));
    const key = { namespace: ns, name: "a" };
    const status = { replicas: 2, observedGeneration: 1 };
    const updated = await client.updateStatus(Deployment, { ...created, spec: undefined, status } as never);
    assert.deepEqual([updated.status?.replicas, updated.spec?.replicas], [2, 2]);
    const applied = { metadata: key, status: { readyReplicas: 1 } };
    const ready = await client.apply(Deployment, applied, { fieldManager: "x", subresource: "status" });
    assert.equal(ready.status?.readyReplicas, 1);
    const scale = await client.getScale(Deployment, key);
    assert.deepEqual([scale.kind, scale.spec.replicas, scale.status?.replicas], ["Scale", 2, 2]);
    assert.equal((await client.updateScale(Deployment, key, { ...scale, spec: { replicas: 4 } })).spec.replicas, 4);
    await assert.rejects(client.updateScale(Deployment, key, scale), errors.isConflict);
    assert.equal((await client.scale(Deployment, key, 5)).spec.replicas, 5);
    assert.equal((await client.get(Deployment, key)).spec?.replicas, 5);
  });

  test("reads one moment page by page while objects come and go", async () => {
    const ns = await namespace();
    const names = Array.from({ length: 25 }, (_, index) => `cm-${String(index).padStart(2, "0")}`);
    await Promise.all(names.map((name) => client.create(ConfigMap, configMap(ns, name))));
    const seen: (string | undefined)[] = [];
    const revisions = new Set<string | undefined>();
    for await (const page of client.listAll(ConfigMap, { namespace: ns, limit: 10 })) {
      assert.ok(page.items.length <= 10);
      assert.ok(page.items.every(({ kind, apiVersion }) => kind === "ConfigMap" && apiVersion === "v1"));
      seen.push(...page.items.map(({ metadata }) => metadata.name));
      revisions.add(page.metadata.resourceVersion);
      const last = 25 - seen.length / 10;
      if (Number.isInteger(last)) await client.delete(ConfigMap, { namespace: ns, name: names[last] as string });
      await client.create(ConfigMap, configMap(ns, `late-${seen.length}`));
    }
    assert.deepEqual(seen, names);
    assert.equal(revisions.size, 1);
  });

  test("watches from a revision, gets bookmarks, and stops when told to", async () => {
    const ns = await namespace();
    const { metadata } = await client.list(ConfigMap, { namespace: ns });
    const stop = new AbortController();
    const events: WatchEvent<ConfigMap>[] = [];
    const from = { namespace: ns, resourceVersion: metadata.resourceVersion, signal: stop.signal };
    const created = await client.create(ConfigMap, configMap(ns, "odd", { text: "åßç 🚢" }));
    await client.update(ConfigMap, { ...created, data: { text: "x".repeat(200_000) } });
    await client.delete(ConfigMap, { namespace: ns, name: "odd" }).catch(() => {});
    const reading = (async () => {
      for await (const event of client.watch(ConfigMap, from)) {
        events.push(event);
        if (event.type === "DELETED") stop.abort();
      }
    })();
    await assert.rejects(reading, { name: "AbortError" });
    assert.deepEqual(
      events.filter(({ type }) => type !== "BOOKMARK").map(({ type }) => type),
      ["ADDED", "MODIFIED", "DELETED"],
    );
    const [added, modified] = events as { object: ConfigMap }[];
    assert.equal(added?.object.data?.text, "åßç 🚢");
    assert.equal(modified?.object.data?.text?.length, 200_000);
    const initial: string[] = [];
    for await (const { type, object } of client.watch(ConfigMap, {
      namespace: ns,
      sendInitialEvents: true,
      resourceVersionMatch: "NotOlderThan",
      idleTimeoutMs: 30_000,
    })) {
      initial.push(type);
      if (object.metadata.annotations?.["k8s.io/initial-events-end"] === "true") break;
    }
    assert.equal(initial.at(-1), "BOOKMARK");
  });

  test("a watch ends cleanly when the server's time is up", async () => {
    const ns = await namespace();
    for await (const { type } of client.watch(ConfigMap, { namespace: ns, timeoutSeconds: 1 })) {
      assert.equal(type, "BOOKMARK");
    }
  });

  test("acts as someone else, within their rights", async () => {
    const ns = await namespace();
    const ann = client.impersonating({ user: "ann", groups: ["crew"], extra: { "example.com/Ship": ["fjord"] } });
    const review: SelfSubjectReview = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      metadata: {},
    };
    const { userInfo } = (await ann.create(SelfSubjectReview, review)).status ?? {};
    assert.deepEqual([userInfo?.username, userInfo?.groups], ["ann", ["crew", "system:authenticated"]]);
    await assert.rejects(ann.list(ConfigMap, { namespace: ns }), (error) => {
      assert.ok(errors.isForbidden(error));
      assert.match(error.message, /User "ann" cannot list resource "configmaps"/);
      return true;
    });
    const meta = { namespace: ns, name: "read" };
    const api = { apiVersion: "rbac.authorization.k8s.io/v1" } as const;
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }];
    await client.create(Role, { ...api, kind: "Role", metadata: meta, rules });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "read" };
    const subjects = [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "crew" }];
    await client.create(RoleBinding, { ...api, kind: "RoleBinding", metadata: meta, roleRef, subjects });
    // The server's authorizer learns of new roles by watching.
    for (;;) {
      const allowed = await ann.list(ConfigMap, { namespace: ns }).catch((error: unknown) => error);
      if (!errors.isForbidden(allowed)) break;
    }
  });

  test("handles names that a URL would take for something else", async () => {
    const name = "system:odd name?with=all#of+it&more";
    const role: ClusterRole = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name },
      rules: [],
    };
    await client.create(ClusterRole, role);
    assert.equal((await client.get(ClusterRole, { name })).metadata.name, name);
    await client.delete(ClusterRole, { name });
  });

  test("works below a path, watches included", async () => {
    const ns = await namespace();
    const { tls, server } = site.config;
    const proxy = createServer((incoming, outgoing) => {
      const path = (incoming.url ?? "").replace(/^\/clusters\/one/, "");
      const options = { ...tls, method: incoming.method, headers: { ...incoming.headers, host: new URL(server).host } };
      const onward = tlsRequest(`${server}${path}`, options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        outgoing.flushHeaders();
        answer.pipe(outgoing);
      });
      outgoing.on("close", () => onward.destroy());
      onward.on("error", () => outgoing.destroy());
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const { port } = proxy.address() as AddressInfo;
    const far = new KubeClient({ server: `http://127.0.0.1:${port}/clusters/one`, namespace: ns, tls: {} });
    const created = await far.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } });
    for await (const event of far.watch(ConfigMap, { namespace: ns })) {
      assert.deepEqual(event, { type: "ADDED", object: created });
      break;
    }
    await assert.rejects(far.get(Pod, { name: "none" }), errors.isNotFound);
    await far.close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
}
