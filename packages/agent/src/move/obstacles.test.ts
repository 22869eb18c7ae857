import assert from "node:assert/strict";
import { test } from "node:test";
import { SITE_LABEL, VIRTUAL_NODE } from "@fjord/api";
import type { Node, Pod } from "@fjord/kube";
import { obstaclesAt, type PodTemplate } from "./obstacles.ts";
import { namespacesOf } from "./pod-term-obstacles.ts";
import { affinityFor } from "./site-affinity.ts";

const HOST = "kubernetes.io/hostname";
const AWAY = { site: "id-away" };

function node(name: string, labels: Record<string, string> = {}, taints: object[] = []): Node {
  return { metadata: { name, labels: { [HOST]: name, ...labels } }, spec: { taints } } as unknown as Node;
}

const nodes = [
  node("home-1", { disk: "ssd" }),
  node("home-2"),
  node("away", { [SITE_LABEL]: "id-away", zone: "b" }, [{ key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" }]),
];

function template(spec: object): PodTemplate {
  return { metadata: { labels: { app: "web" } }, spec: { containers: [], ...spec } } as unknown as PodTemplate;
}

function pod(app: string, nodeName: string): Pod {
  return { metadata: { name: app, namespace: "shop", labels: { app } }, spec: { nodeName } } as unknown as Pod;
}

const against = (spec: object, place: typeof AWAY | "home" = AWAY, more: object = {}) =>
  obstaclesAt(place, place === "home" ? "home" : "lively-wave", {
    template: template(spec),
    namespace: "shop",
    replicas: 2,
    nodes,
    pods: [],
    ...more,
  });

const required = (...terms: object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
});

const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});

const podTerms = (kind: string, app: string, more: object = {}) => ({
  affinity: {
    [kind]: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: HOST, labelSelector: { matchLabels: { app } }, ...more },
      ],
    },
  },
});

test("where nothing is asked of nodes, nothing stands in the way", () => {
  assert.deepEqual(against({}), []);
  assert.deepEqual(against({}, "home"), []);
  assert.deepEqual(against({}, { site: "id-nobody" }), ["there is no node at lively-wave"]);
});

test("a nodeSelector that no node there meets is named with what the node has", () => {
  assert.deepEqual(against({ nodeSelector: { disk: "ssd" } }), [
    "its nodeSelector asks for disk=ssd, and node away has no label disk",
  ]);
  assert.deepEqual(against({ nodeSelector: { zone: "a" } }), [
    "its nodeSelector asks for zone=a, and node away has zone=b",
  ]);
  assert.deepEqual(against({ nodeSelector: { disk: "ssd" } }, "home"), []);
  assert.deepEqual(against({ nodeName: "home-1" }), ["its pods name the node home-1"]);
});

test("a required node affinity stands in the way where none of its terms is met, and an earlier move does not", () => {
  const either = required(expression("zone", "In", "a"), expression("disk", "Exists"));
  assert.deepEqual(against(either), [
    "its node affinity asks for zone In [a], and node away has zone=b",
    "its node affinity asks for the label disk, and node away has no label disk",
  ]);
  assert.deepEqual(against(required(expression("zone", "In", "a"), expression("zone", "In", "b"))), []);
  const local = required(expression(SITE_LABEL, "NotIn", "id-away"));
  assert.match(against(local)[0] ?? "", /asks for fjord\.dev\/site NotIn \[id-away\], and node away has/);
  assert.deepEqual(against({ affinity: affinityFor("home", undefined) }), []);
  assert.deepEqual(against({ affinity: affinityFor({ site: "id-other" }, undefined) }), []);
});

test("a taint that its owner has set stands in the way unless it is tolerated", () => {
  const tainted = [
    node("away", { [SITE_LABEL]: "id-away" }, [
      { key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" },
      { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" },
      { key: "gpu", value: "only", effect: "NoSchedule" },
    ]),
  ];
  assert.deepEqual(against({}, AWAY, { nodes: tainted }), [
    "node away has the taint gpu=only:NoSchedule, which its pods do not tolerate",
  ]);
  const tolerations = [{ key: "gpu", operator: "Exists" }];
  assert.deepEqual(against({ tolerations }, AWAY, { nodes: tainted }), []);
});

test("pods that keep each other away do not fit where one node stands for a site", () => {
  assert.deepEqual(against(podTerms("podAntiAffinity", "web")), [
    `its pod anti-affinity allows one pod at each ${HOST}, and lively-wave has room for 1 of 2`,
  ]);
  assert.deepEqual(against(podTerms("podAntiAffinity", "web"), AWAY, { replicas: 1 }), []);
  assert.deepEqual(against(podTerms("podAntiAffinity", "web"), "home"), []);
  assert.deepEqual(against(podTerms("podAntiAffinity", "web", { topologyKey: "rack" })), []);
});

test("pods that must be near others cannot leave them", () => {
  const near = podTerms("podAffinity", "db");
  assert.deepEqual(against(near, AWAY, { pods: [pod("db", "home-1")] }), [
    `its pod affinity wants pods with app=db at the same ${HOST}, and none of those is at lively-wave`,
  ]);
  assert.deepEqual(against(near, AWAY, { pods: [pod("db", "away")] }), []);
  assert.deepEqual(against(near, "home", { pods: [pod("db", "home-1")] }), []);
  assert.deepEqual(against(podTerms("podAffinity", "web")), [], "the first of its kind");
  assert.equal(against(podTerms("podAffinity", "web"), AWAY, { pods: [pod("web", "home-2")] }).length, 1);
  assert.deepEqual(against(podTerms("podAffinity", "db", { namespaceSelector: {} })), [], "beyond knowing");
});

test("an even spread over all nodes cannot be at one of them", () => {
  const spread = (nodeAffinityPolicy: string) => ({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: HOST,
        whenUnsatisfiable: "DoNotSchedule",
        nodeAffinityPolicy,
        labelSelector: { matchLabels: { app: "web" } },
      },
    ],
  });
  assert.deepEqual(against(spread("Honor")), []);
  assert.deepEqual(against(spread("Ignore")), [
    `its pods are to be spread over every ${HOST} with a skew of 1 at most, so that lively-wave has room for 1 of 2`,
  ]);
});

test("the pods that have to be known are those of the namespaces that are named", () => {
  assert.deepEqual(namespacesOf(template({}), "shop"), []);
  assert.deepEqual(namespacesOf(template(podTerms("podAffinity", "db")), "shop"), ["shop"]);
  assert.deepEqual(namespacesOf(template(podTerms("podAffinity", "db", { namespaces: ["data"] })), "shop"), ["data"]);
  assert.deepEqual(namespacesOf(template(podTerms("podAffinity", "db", { namespaceSelector: {} })), "shop"), []);
});
