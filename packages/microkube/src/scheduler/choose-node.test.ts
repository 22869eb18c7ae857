import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from "@fjord/kube";
import fc from "fast-check";
import { type Choice, chooseNode } from "./choose-node.ts";
import { ClusterState, type Lookups } from "./cluster-state.ts";
import { defaultPlugins } from "./plugins/index.ts";
import { podFacts } from "./pod-facts.ts";
import { testNode, testPod } from "./test-objects.ts";

interface World {
  nodes: Node[];
  pods?: Pod[];
  claims?: PersistentVolumeClaim[];
  volumes?: PersistentVolume[];
  classes?: StorageClass[];
}

function decide(
  pod: Pod,
  { nodes, pods = [], claims = [], volumes = [], classes = [] }: World,
  random = () => 0,
): Choice {
  const byName = <T extends { metadata: { name?: string } }>(all: T[], name: string) =>
    all.find(({ metadata }) => metadata.name === name);
  const lookups: Lookups = {
    namespace: (name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { team: name } } }),
    claim: (_, name) => byName(claims, name),
    volume: (name) => byName(volumes, name),
    volumes: () => volumes,
    storageClass: (name) => byName(classes, name),
  };
  const state = new ClusterState(lookups);
  for (const node of nodes) state.setNode(node);
  for (const one of pods) state.setPod(one);
  const facts = podFacts(pod);
  return chooseNode(facts, state.snapshot(facts), { plugins: defaultPlugins, random });
}

const at = (node: string, pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, nodeName: node } }) as Pod;
const claim = (name: string, spec: object, annotations: Record<string, string> = {}) =>
  ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default", uid: `c-${name}`, annotations },
    spec,
  }) as PersistentVolumeClaim;
const volume = (name: string, size: string, node?: string) =>
  ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: size },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local",
      ...(node && {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] },
            ],
          },
        },
      }),
    },
    status: { phase: "Available" },
  }) as unknown as PersistentVolume;
const mounting = (name: string) =>
  testPod("p", { volumes: [{ name: "v", persistentVolumeClaim: { claimName: name } }] });
const storage = (name: string, provisioner: string) =>
  ({
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner,
    volumeBindingMode: "WaitForFirstConsumer",
  }) as StorageClass;
const wanting = {
  accessModes: ["ReadWriteOnce"],
  storageClassName: "local",
  resources: { requests: { storage: "1Gi" } },
};

describe("the choice of a node", () => {
  it("is none where there are no nodes", () => {
    const choice = decide(testPod("p"), { nodes: [] });
    assert.equal(choice.node === undefined && choice.failure.message, "no nodes available to schedule pods");
  });

  it("prefers the node with the most left", () => {
    const world = { nodes: [testNode("a"), testNode("b")], pods: [at("a", testPod("x", { cpu: "1" }))] };
    assert.equal(decide(testPod("p", { cpu: "100m" }), world).node?.name, "b");
  });

  it("spreads the pods of one controller over nodes, whatever they use", () => {
    const owned = (name: string): Pod => {
      const pod = testPod(name, { cpu: "10m" });
      const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "r", controller: true };
      return { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } };
    };
    const pods: Pod[] = [];
    for (let i = 0; i < 6; i++) {
      const pod = owned(`p${i}`);
      pods.push(at(decide(pod, { nodes: ["a", "b", "c"].map((name) => testNode(name)), pods }).node?.name ?? "", pod));
    }
    assert.deepEqual(
      Object.values(Object.groupBy(pods, ({ spec }) => spec?.nodeName ?? "")).map((some) => some?.length),
      [2, 2, 2],
    );
  });

  it("counts pods that have ended no more", () => {
    const ended = { ...at("a", testPod("x", { cpu: "2" })), status: { phase: "Succeeded" } } as Pod;
    assert.equal(decide(testPod("p", { cpu: "2" }), { nodes: [testNode("a")], pods: [ended] }).node?.name, "a");
  });

  it("counts an init container's peak, and sidecars with the rest", () => {
    const containers = [{ name: "m", image: "i", resources: { requests: { cpu: "1" } } }];
    const init = (cpu: string, restartPolicy?: "Always") => [
      { name: "i", image: "i", resources: { requests: { cpu } }, ...(restartPolicy && { restartPolicy }) },
    ];
    const nodes = [testNode("a")];
    assert.equal(decide(testPod("p", { containers, initContainers: init("2") }), { nodes }).node?.name, "a");
    assert.equal(
      decide(testPod("p", { containers, initContainers: init("1500m", "Always") }), { nodes }).node,
      undefined,
    );
  });

  it("takes selectors of namespaces into account for affinity", () => {
    const near = (team: string) => ({
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          {
            topologyKey: "kubernetes.io/hostname",
            labelSelector: { matchLabels: { app: "db" } },
            namespaceSelector: { matchLabels: { team } },
          },
        ],
      },
    });
    const world = {
      nodes: [testNode("a"), testNode("b")],
      pods: [at("b", testPod("x", { labels: { app: "db" }, namespace: "other" }))],
    };
    assert.equal(decide(testPod("p", { affinity: near("other") }), world).node?.name, "b");
    assert.equal(decide(testPod("p", { affinity: near("default") }), world).node, undefined);
  });

  it("goes where a bound volume is", () => {
    const bound = claim("data", { ...wanting, volumeName: "v1" }, { "pv.kubernetes.io/bind-completed": "yes" });
    const world = { nodes: [testNode("a"), testNode("b")], claims: [bound], volumes: [volume("v1", "1Gi", "b")] };
    assert.equal(decide(mounting("data"), world).node?.name, "b");
  });

  it("goes where a free volume is, if claims wait for it", () => {
    const world = {
      nodes: [testNode("a"), testNode("b")],
      claims: [claim("data", wanting)],
      volumes: [volume("small", "500Mi", "a"), volume("right", "2Gi", "b")],
      classes: [storage("local", "kubernetes.io/no-provisioner")],
    };
    assert.equal(decide(mounting("data"), world).node?.name, "b");
  });

  it("waits for claims that are to be bound at once, and says which are missing", () => {
    const nodes = [testNode("a")];
    const message = (choice: Choice) => choice.node === undefined && choice.failure.message;
    const immediate = decide(mounting("data"), { nodes, claims: [claim("data", wanting)] });
    assert.equal(message(immediate), "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
    const missing = decide(mounting("data"), { nodes });
    assert.equal(message(missing), '0/1 nodes are available: persistentvolumeclaim "data" not found.');
  });

  it("never gives a node more than it has, and refuses only what does not fit", () => {
    const amounts = fc.record({ cpu: fc.integer({ min: 1, max: 2500 }), memory: fc.integer({ min: 1, max: 5000 }) });
    fc.assert(
      fc.property(
        fc.array(amounts, { maxLength: 25 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer(),
        (wishes, count, seed) => {
          const nodes = Array.from({ length: count }, (_, index) => testNode(`n${index}`));
          const free = nodes.map(() => ({ cpu: 2000, memory: 4096, pods: 10 }));
          const pods: Pod[] = [];
          let next = seed;
          const random = () => {
            next = (next * 48271 + 11) % 2147483647;
            return Math.abs(next) / 2147483647;
          };
          for (const [index, { cpu, memory }] of wishes.entries()) {
            const requests = { cpu: `${cpu}m`, memory: `${memory}Mi` };
            const pod = testPod(`p${index}`, { containers: [{ name: "m", image: "i", resources: { requests } }] });
            const { node } = decide(pod, { nodes, pods }, random);
            const fits = free.some((one) => one.cpu >= cpu && one.memory >= memory && one.pods >= 1);
            assert.equal(node !== undefined, fits);
            if (node === undefined) continue;
            const room = free[Number(node.name.slice(1))];
            assert.ok(room !== undefined && room.cpu >= cpu && room.memory >= memory && room.pods >= 1);
            room.cpu -= cpu;
            room.memory -= memory;
            room.pods--;
            pods.push(at(node.name, pod));
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
