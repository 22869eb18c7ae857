import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { KubeClient } from "../client/client.ts";
import { reply, testServer } from "../transport/test-server.ts";
import { Discovery, type DiscoveryOptions } from "./discovery.ts";

interface Group {
  group: string;
  version: string;
  resources: [plural: string, kind: string, namespaced: boolean, shortNames?: string[]][];
  broken?: boolean;
}

const groups: Group[] = [
  {
    group: "",
    version: "v1",
    resources: [
      ["pods", "Pod", true, ["po"]],
      ["events", "Event", true, ["ev"]],
    ],
  },
  { group: "apps", version: "v1", resources: [["deployments", "Deployment", true, ["deploy"]]] },
  { group: "events.k8s.io", version: "v1", resources: [["events", "Event", true, ["ev"]]] },
  { group: "autoscaling", version: "v2", resources: [["horizontalpodautoscalers", "HorizontalPodAutoscaler", true]] },
  { group: "autoscaling", version: "v1", resources: [["horizontalpodautoscalers", "HorizontalPodAutoscaler", true]] },
  { group: "metrics.k8s.io", version: "v1beta1", resources: [], broken: true },
  { group: "shop.example", version: "v1", resources: [["poes", "Poe", false, ["pods"]]] },
];

function aggregated(served: Group[]) {
  const items = [...Map.groupBy(served, ({ group }) => group)].map(([name, versions]) => ({
    metadata: { name },
    versions: versions.map(({ version, resources, broken }) => ({
      version,
      freshness: broken ? "Stale" : "Current",
      resources: resources.map(([resource, kind, namespaced, shortNames]) => ({
        resource,
        responseKind: { group: "", version: "", kind },
        scope: namespaced ? "Namespaced" : "Cluster",
        singularResource: kind.toLowerCase(),
        shortNames,
        verbs: ["get"],
        subresources: [{ subresource: "status" }],
      })),
    })),
  }));
  return { kind: "APIGroupDiscoveryList", items };
}

const isCore = ({ group }: Group) => group === "";

async function setUp(style: "aggregated" | "legacy", options: DiscoveryOptions = {}) {
  const served = [...groups];
  const server = await testServer(({ url, headers }, response) => {
    if (url === "/version") return reply(response, 200, { major: "1", minor: "36", gitVersion: "v1.36.3" });
    if (style === "aggregated") {
      assert.match(headers.accept ?? "", /^application\/json;g=apidiscovery\.k8s\.io;v=v2;/);
      return reply(response, 200, aggregated(served.filter((group) => isCore(group) === (url === "/api"))));
    }
    if (url === "/api") return reply(response, 200, { kind: "APIVersions", versions: ["v1"] });
    if (url === "/apis") {
      const byName = Map.groupBy(
        served.filter((group) => !isCore(group)),
        ({ group }) => group,
      );
      const list = [...byName].map(([name, versions]) => ({
        name,
        versions: versions.map(({ version }) => ({ groupVersion: `${name}/${version}` })).reverse(),
        preferredVersion: { groupVersion: `${name}/${versions[0]?.version}` },
      }));
      return reply(response, 200, { kind: "APIGroupList", groups: list });
    }
    const groupVersion = url.replace(/^\/apis?\//, "");
    const found = served.find(({ group, version }) => groupVersion === (group ? `${group}/${version}` : version));
    if (found === undefined || found.broken) return reply(response, 503, { kind: "Status", message: "no backend" });
    const resources = found.resources.flatMap(([name, kind, namespaced, shortNames]) => [
      { name, kind, namespaced, shortNames, singularName: kind.toLowerCase(), verbs: ["get"] },
      { name: `${name}/status`, kind, namespaced, verbs: ["get"] },
    ]);
    reply(response, 200, { kind: "APIResourceList", groupVersion, resources });
  });
  const client = new KubeClient({ server: server.url, namespace: "default", tls: {} });
  return {
    served,
    server,
    discovery: new Discovery(client, options),
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

for (const style of ["aggregated", "legacy"] as const) {
  test(`finds kinds by whatever people call them (${style})`, async () => {
    await using t = await setUp(style);
    const cases: [string, string][] = [
      ["pods", "/v1/Pod"],
      ["pod", "/v1/Pod"],
      ["po", "/v1/Pod"],
      ["Pod", "/v1/Pod"],
      ["pods.v1", "/v1/Pod"],
      ["deploy", "apps/v1/Deployment"],
      ["Deployment.apps", "apps/v1/Deployment"],
      ["deployments.v1.apps", "apps/v1/Deployment"],
      ["events", "/v1/Event"],
      ["events.events.k8s.io", "events.k8s.io/v1/Event"],
      ["hpa.autoscaling", ""],
      ["horizontalpodautoscaler", "autoscaling/v2/HorizontalPodAutoscaler"],
      ["horizontalpodautoscalers.v1.autoscaling", "autoscaling/v1/HorizontalPodAutoscaler"],
      ["pods.apps", ""],
      ["", ""],
    ];
    for (const [query, expected] of cases) {
      const found = await t.discovery.resolve(query).catch(() => undefined);
      assert.equal(found === undefined ? "" : `${found.group}/${found.version}/${found.kind}`, expected, query);
    }
    const kind = await t.discovery.resolve({ apiVersion: "apps/v1", kind: "Deployment" });
    const expected = { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true };
    assert.deepEqual(kind, expected);
    assert.equal((await t.discovery.resolve("poe")).namespaced, false);
    assert.deepEqual((await t.discovery.resource("deploy")).subresources, ["status"]);
  });

  test(`a group that does not answer spoils nothing but itself, and is named (${style})`, async () => {
    await using t = await setUp(style);
    assert.equal((await t.discovery.resolve("po")).plural, "pods");
    await assert.rejects(t.discovery.resolve("podmetrics"), (error: Error & { code: string }) => {
      assert.equal(error.code, "KUBE_KIND_NOT_SERVED");
      assert.match(error.message, /serves no kind "podmetrics" \(metrics\.k8s\.io\/v1beta1 did not answer/);
      return true;
    });
  });
}

test("asks once for many at the same time, and again when the answer is old", async () => {
  const clock = new ManualClock();
  await using t = await setUp("aggregated", { clock, ttlMs: 1_000 });
  await Promise.all(["po", "deploy", "ev"].map((query) => t.discovery.resolve(query)));
  assert.equal(t.server.requests.length, 2);
  await clock.advance(999);
  await t.discovery.resolve("po");
  assert.equal(t.server.requests.length, 2);
  await clock.advance(1);
  await t.discovery.resolve("po");
  assert.equal(t.server.requests.length, 4);
});

test("a kind that was added is found at the first miss, and misses do not flood the server", async () => {
  const clock = new ManualClock();
  await using t = await setUp("aggregated", { clock, missIntervalMs: 3_000 });
  await t.discovery.resolve("po");
  t.served.push({ group: "boats.example", version: "v1", resources: [["boats", "Boat", true]] });
  await assert.rejects(t.discovery.resolve("boats"));
  assert.equal(t.server.requests.length, 2);
  await clock.advance(3_000);
  assert.equal((await t.discovery.resolve("boats")).kind, "Boat");
  for (let i = 0; i < 10; i++) await assert.rejects(t.discovery.resolve("ships"));
  assert.equal(t.server.requests.length, 4);
});

test("a failure to ask is not remembered", async () => {
  let up = false;
  await using server = await testServer((_, response) => {
    if (up) reply(response, 200, aggregated(groups.filter(isCore)));
    else reply(response, 500, { kind: "Status", message: "starting" });
  });
  const client = new KubeClient({ server: server.url, namespace: "default", tls: {} });
  const discovery = new Discovery(client);
  await assert.rejects(discovery.resolve("po"), { name: "ApiError" });
  up = true;
  assert.equal((await discovery.resolve("po")).kind, "Pod");
  await client.close();
});

test("tells the server's version", async () => {
  await using t = await setUp("aggregated");
  assert.equal((await t.discovery.serverVersion()).gitVersion, "v1.36.3");
});
