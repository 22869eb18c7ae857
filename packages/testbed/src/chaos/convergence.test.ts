import assert from "node:assert/strict";
import { test } from "node:test";
import { differences, eventStorms, leftovers } from "./convergence.ts";
import { after, emptyModel } from "./model.ts";
import { forgeWorkload, VERSION_LABEL, WORKLOAD_LABEL } from "./objects.ts";
import type { SiteSnapshot, Snapshot } from "./snapshot.ts";
import { BONDS, NAMESPACES, SITES } from "./topology.ts";
import type { UserAction } from "./wishes.ts";

const alpha = { site: "site-1", name: "alpha" } as const;
const config = { kind: "ConfigMap", name: "settings", version: 1, always: false } as const;
const wishes: UserAction[] = [
  { do: "offload", in: alpha, pods: "Both" },
  { do: "put", in: alpha, what: config },
  { do: "put", in: alpha, what: { kind: "Pod", name: "web", version: 1, config: "settings" } },
];
const model = wishes.reduce(after, emptyModel());
const ours = { "fjord.dev/consumer": "id-site-1" };

type Loose = Record<string, Record<string, unknown>[]>;

/** Sites on which everything is as the wishes say. */
function world(): Record<string, Loose> {
  const none = () => Object.fromEntries(kinds.map((kind) => [kind, []])) as Loose;
  const sites: Record<string, Loose> = Object.fromEntries(SITES.map((site) => [site, none()]));
  for (const { site, name } of NAMESPACES) {
    const labels = name === "alpha" ? { "fjord.dev/offloaded": "true" } : {};
    sites[site]?.namespaces?.push({ metadata: { name, labels } });
  }
  for (const { consumer, provider } of BONDS)
    sites[consumer]?.virtualNodes?.push({ metadata: { name: provider }, status: { provider: `id-${provider}` } });
  const [home, near, far] = [sites["site-1"], sites["site-2"], sites["site-3"]] as [Loose, Loose, Loose];
  home.offloadings?.push({
    metadata: { name: "offloading", namespace: "alpha" },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });
  for (const there of [near, far]) {
    const labels = { ...ours, "fjord.dev/origin-namespace": "alpha" };
    there.namespaces?.push({ metadata: { name: "alpha-twin", labels } });
  }
  const source = forgeWorkload(alpha, config) as unknown as Record<string, Record<string, unknown>>;
  home.configMaps?.push(source);
  const managed = { chaos: "true", "fjord.dev/managed-by": "reflect" };
  near.configMaps?.push({
    data: source.data,
    metadata: { name: "settings", namespace: "alpha-twin", labels: managed },
  });
  home.pods?.push(pod({ name: "web", namespace: "alpha", uid: "1" }, "site-2"));
  near.pods?.push(pod({ name: "web", namespace: "alpha-twin", uid: "2" }, "worker", "1"));
  near.shadowPods?.push({
    metadata: { name: "web", namespace: "alpha-twin", labels: ours },
    spec: { originUid: "1" },
  });
  return sites;
}

function pod(metadata: object, nodeName: string, origin?: string) {
  const labels = { [WORKLOAD_LABEL]: "web", [VERSION_LABEL]: "1" };
  const guest = origin === undefined ? {} : { ...ours, "fjord.dev/origin-uid": origin };
  const containers = [{ name: "main", image: "x", envFrom: [{ configMapRef: { name: "settings" } }] }];
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  return { metadata: { ...metadata, labels: { ...labels, ...guest } }, spec: { nodeName, containers }, status };
}

const kinds = [
  ...["namespaces", "nodes", "pods", "deployments", "statefulSets", "jobs", "configMaps", "secrets", "services"],
  ...["events", "leases", "roleBindings", "clusterRoleBindings", "sites", "peerings", "contracts", "virtualNodes"],
  ...["offloadings", "twinNamespaces", "shadowPods"],
];

function snapshotOf(sites: Record<string, Loose>): Snapshot {
  return new Map(
    Object.entries(sites).map(([site, found]) => [
      site,
      { site, id: `id-${site}`, ...found } as unknown as SiteSnapshot,
    ]),
  );
}

test("a world that is as the users asked has no differences", () => {
  assert.deepEqual(differences(model, snapshotOf(world())), []);
});

const breaks: Record<string, [(world: Record<string, Loose>) => void, RegExp]> = {
  "a guest is missing": [(all) => all["site-2"]?.pods?.pop(), /web \(1\) has 0 guests/],
  "a ShadowPod is missing": [(all) => all["site-2"]?.shadowPods?.pop(), /has 0 ShadowPods/],
  "a guest has no pod": [
    (all) => all["site-3"]?.pods?.push(pod({ name: "old", namespace: "alpha-twin", uid: "9" }, "worker", "8")),
    /guest alpha-twin\/old stands for no pod/,
  ],
  "the pod is gone": [(all) => all["site-1"]?.pods?.pop(), /pod web is not there/],
  "a twin is missing": [(all) => all["site-2"]?.configMaps?.pop(), /ConfigMap alpha\/settings has no twin/],
  "a twin is old": [
    (all) => Object.assign(all["site-2"]?.configMaps?.[0] ?? {}, { data: { version: "0" } }),
    /ConfigMap alpha\/settings is .* its twin/,
  ],
  "a twin is where nothing needs it": [
    (all) => all["site-3"]?.configMaps?.push({ metadata: { name: "settings", namespace: "alpha-twin" } }),
    /has a twin that nothing needs/,
  ],
  "a twin namespace is missing": [(all) => all["site-3"]?.namespaces?.pop(), /alpha has no twin/],
};

for (const [name, [spoil, finding]] of Object.entries(breaks)) {
  test(`it is found when ${name}`, () => {
    const all = world();
    spoil(all);
    assert.match(differences(model, snapshotOf(all)).join("\n"), finding);
  });
}

test("what is left of peerings is found, ended contracts are not", () => {
  const all = world();
  all["site-2"]?.contracts?.push({ metadata: { name: "old" }, status: { phase: "Ended" } });
  const rest = leftovers(snapshotOf(all));
  assert.ok(rest.includes("site-2: ShadowPod alpha-twin/web is left"), rest.join("\n"));
  assert.ok(!rest.some((text) => text.includes("Contract")));
});

test("an object about which too much is told is found", () => {
  const all = world();
  const regarding = { kind: "Pod", namespace: "alpha", name: "web" };
  const event = { regarding, reason: "Lost", reportingController: "fjord-agent" };
  all["site-1"]?.events?.push({ ...event, series: { count: 500 } }, event);
  const storm = "site-1: told of Pod alpha/web 501 times in 2 events (Lost 501 in 2)";
  const found = (times: number, events: number) => eventStorms(snapshotOf(all), { times, events });
  assert.deepEqual(found(501, 2), { worst: [storm], storms: [] });
  assert.deepEqual(found(500, 2).storms, [storm]);
  assert.deepEqual(found(501, 1).storms, [storm]);
});

test("a bare pod may have been refused where its namespace was brought home, and nowhere else", () => {
  const sites = world();
  const [home, near] = [sites["site-1"], sites["site-2"]] as [Loose, Loose];
  home.pods = [pod({ name: "web", namespace: "alpha", uid: "1" }, "site-2")];
  Object.assign(home.pods[0] ?? {}, { status: { phase: "Failed", reason: "NotOffloaded" } });
  near.pods = [];
  near.shadowPods = [];
  assert.match(differences(model, snapshotOf(sites)).join(), /pod web is not Ready: 1 Failed NotOffloaded/);
  const again: UserAction[] = [
    { do: "unoffload", in: alpha },
    { do: "offload", in: alpha, pods: "Both" },
  ];
  assert.deepEqual(differences(again.reduce(after, model), snapshotOf(sites)), []);
});
