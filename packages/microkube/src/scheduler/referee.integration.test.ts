import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { EventRecorder, KubeClient, Manager, Node, Pod, PriorityClass, SharedCaches } from "@fjord/kube";
import type { Bed } from "@fjord/testbed";
import { kubernetesSkip, startTestBed } from "@fjord/testbed/testing";
import { Scheduler } from "./scheduler.ts";
import { testNode, testPod } from "./test-objects.ts";

interface Scenario {
  readonly nodes: Node[];
  /** Pods that are there, with a nodeName. */
  readonly there?: Pod[];
  readonly pod: Pod;
}

const onNode = (node: string, pod: Pod): Pod =>
  ({ ...pod, spec: { ...pod.spec, nodeName: node } as Pod["spec"] }) as Pod;
const zone = (name: string) => ({ labels: { "topology.kubernetes.io/zone": name } });
const app = (name: string) => ({ labelSelector: { matchLabels: { app: name } } });
const taint = (key: string, effect: "NoSchedule" | "NoExecute" | "PreferNoSchedule", value = "") => ({
  spec: { taints: [{ key, effect, value }] },
});
const spread = (maxSkew: number, topologyKey: string) => ({
  topologySpreadConstraints: [{ maxSkew, topologyKey, whenUnsatisfiable: "DoNotSchedule" as const, ...app("s") }],
});

const versioned = (name: string, version: string, more: Parameters<typeof testPod>[1] = {}) =>
  testPod(name, { labels: { app: "v", version }, ...more });
const ofVersion = { ...app("v"), matchLabelKeys: ["version"] };
const notOther = {
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", ...app("v"), mismatchLabelKeys: ["version"] },
      ],
    },
  },
};

const scenarios: Record<string, Scenario> = {
  "the only node that is large enough": {
    nodes: [testNode("a"), testNode("b", { allocatable: { cpu: "4" } })],
    pod: testPod("p", { cpu: "3" }),
  },
  "no node is large enough": { nodes: [testNode("a"), testNode("b")], pod: testPod("p", { cpu: "3" }) },
  "room is taken": {
    nodes: [testNode("a"), testNode("b", { allocatable: { cpu: "1" } })],
    there: [onNode("a", testPod("x", { cpu: "1500m" }))],
    pod: testPod("p", { cpu: "800m" }),
  },
  "the number of pods counts": {
    nodes: [testNode("a", { allocatable: { pods: "1" } })],
    there: [onNode("a", testPod("x"))],
    pod: testPod("p"),
  },
  "several things are short": {
    nodes: [testNode("a", { allocatable: { cpu: "1", memory: "1Gi" } })],
    pod: testPod("p", {
      containers: [
        {
          name: "main",
          image: "i",
          resources: {
            requests: { cpu: "2", memory: "2Gi", "example.com/gpu": "1" },
            limits: { "example.com/gpu": "1" },
          },
        },
      ],
    }),
  },
  "a node selector": {
    nodes: [testNode("a"), testNode("b", zone("z"))],
    pod: testPod("p", { nodeSelector: { "topology.kubernetes.io/zone": "z" } }),
  },
  "a node selector that nothing has": { nodes: [testNode("a")], pod: testPod("p", { nodeSelector: { disk: "ssd" } }) },
  "required node affinity by name": {
    nodes: [testNode("a"), testNode("b")],
    pod: testPod("p", {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["b"] }] }],
          },
        },
      },
    }),
  },
  "preferred node affinity": {
    nodes: [testNode("a"), testNode("b", zone("z")), testNode("c")],
    pod: testPod("p", {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 100,
              preference: { matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "Exists" }] },
            },
          ],
        },
      },
    }),
  },
  "taints that are not tolerated": {
    nodes: [testNode("a", taint("k", "NoSchedule", "v")), testNode("b", taint("l", "NoExecute"))],
    pod: testPod("p"),
  },
  "a taint that is tolerated": {
    nodes: [testNode("a", taint("k", "NoSchedule", "v")), testNode("b", taint("l", "NoExecute"))],
    pod: testPod("p", { tolerations: [{ key: "k", operator: "Equal", value: "v", effect: "NoSchedule" }] }),
  },
  "a taint that one would rather avoid": {
    nodes: [testNode("a", taint("k", "PreferNoSchedule")), testNode("b")],
    pod: testPod("p"),
  },
  "cordoned nodes": {
    nodes: [testNode("a", { spec: { unschedulable: true } }), testNode("b", { spec: { unschedulable: true } })],
    pod: testPod("p"),
  },
  "host ports": {
    nodes: [testNode("a")],
    there: [
      onNode(
        "a",
        testPod("x", { containers: [{ name: "m", image: "i", ports: [{ containerPort: 80, hostPort: 8080 }] }] }),
      ),
    ],
    pod: testPod("p", { containers: [{ name: "m", image: "i", ports: [{ containerPort: 81, hostPort: 8080 }] }] }),
  },
  "host ports at another address": {
    nodes: [testNode("a")],
    there: [
      onNode(
        "a",
        testPod("x", {
          containers: [{ name: "m", image: "i", ports: [{ containerPort: 80, hostPort: 8080, hostIP: "10.0.0.1" }] }],
        }),
      ),
    ],
    pod: testPod("p", {
      containers: [{ name: "m", image: "i", ports: [{ containerPort: 81, hostPort: 8080, hostIP: "10.0.0.2" }] }],
    }),
  },
  "affinity to a pod": {
    nodes: [testNode("a"), testNode("b")],
    there: [onNode("b", testPod("x", { labels: { app: "db" } }))],
    pod: testPod("p", {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "kubernetes.io/hostname", ...app("db") }],
        },
      },
    }),
  },
  "affinity to a pod that is not there": {
    nodes: [testNode("a"), testNode("b")],
    pod: testPod("p", {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "kubernetes.io/hostname", ...app("db") }],
        },
      },
    }),
  },
  "affinity to itself, the first of its kind": {
    nodes: [testNode("a"), testNode("b", zone("z"))],
    pod: testPod("p", {
      labels: { app: "g" },
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "topology.kubernetes.io/zone", ...app("g") }],
        },
      },
    }),
  },
  "anti-affinity": {
    nodes: [testNode("a"), testNode("b")],
    there: [onNode("a", testPod("x", { labels: { app: "w" } }))],
    pod: testPod("p", {
      labels: { app: "w" },
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "kubernetes.io/hostname", ...app("w") }],
        },
      },
    }),
  },
  "anti-affinity of a pod that is there": {
    nodes: [testNode("a")],
    there: [
      onNode(
        "a",
        testPod("x", {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "kubernetes.io/hostname", ...app("p") }],
            },
          },
        }),
      ),
    ],
    pod: testPod("p"),
  },
  "spread over zones": {
    nodes: [testNode("a", zone("1")), testNode("b", zone("2"))],
    there: [onNode("a", testPod("x", { labels: { app: "s" } }))],
    pod: testPod("p", { labels: { app: "s" }, ...spread(1, "topology.kubernetes.io/zone") }),
  },
  "spread that cannot be": {
    nodes: [testNode("a", zone("1")), testNode("b", { ...zone("2"), ...taint("k", "NoSchedule") }), testNode("c")],
    there: [onNode("a", testPod("x", { labels: { app: "s" } }))],
    pod: testPod("p", { labels: { app: "s" }, ...spread(1, "topology.kubernetes.io/zone") }),
  },
  "anti-affinity within one version": {
    nodes: [testNode("a"), testNode("b")],
    there: [onNode("a", versioned("x", "1")), onNode("b", versioned("y", "2"))],
    pod: versioned("p", "2", {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "kubernetes.io/hostname", ...ofVersion }],
        },
      },
    }),
  },
  "anti-affinity to any other version, of a pod that is there": {
    nodes: [testNode("a"), testNode("b")],
    there: [onNode("a", versioned("x", "1", notOther)), onNode("b", versioned("y", "2", notOther))],
    pod: versioned("p", "1"),
  },
  "spread of one version": {
    nodes: [testNode("a", zone("1")), testNode("b", { ...zone("2"), allocatable: { cpu: "1" } })],
    there: [onNode("a", versioned("x", "1"))],
    pod: versioned("p", "2", {
      cpu: "1500m",
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule", ...ofVersion },
      ],
    }),
  },
  "never preempting": {
    nodes: [testNode("a")],
    there: [onNode("a", testPod("x", { cpu: "2" }))],
    pod: testPod("p", { cpu: "1", priorityClassName: "patient" }),
  },
};

describe("our scheduler beside Kubernetes' own", { skip: kubernetesSkip(), timeout: 400_000 }, () => {
  let bed: Bed;
  let client: KubeClient;
  const stop = new AbortController();
  let running: Promise<void>;

  before(async () => {
    bed = await startTestBed({ sites: 1 });
    client = new KubeClient(bed.site("site-1").config);
    const means = { client, clock: systemClock, random: Math.random, logger: silentLogger };
    const caches = new SharedCaches(means);
    const recorder = new EventRecorder({ ...means, component: "ours" });
    const manager = new Manager({ ...means, gracePeriodMs: 0 }).addCache(caches).add(recorder);
    manager.add(new Scheduler({ ...means, caches, recorder }, { schedulerName: "ours" }));
    running = manager.run(stop.signal);
    const scheduling = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass" };
    await client.create(PriorityClass, { ...scheduling, metadata: { name: "high" }, value: 1000 } as PriorityClass);
    await client.create(PriorityClass, {
      ...scheduling,
      metadata: { name: "patient" },
      value: 1000,
      preemptionPolicy: "Never",
    } as PriorityClass);
  });
  after(async () => {
    stop.abort();
    await running;
    await client?.close();
    await bed?.stop();
  });

  for (const [title, scenario] of Object.entries(scenarios)) {
    it(`decides as it does: ${title}`, async () => {
      await arrange(scenario);
      const theirs = await decide({
        ...scenario.pod,
        spec: { ...scenario.pod.spec, schedulerName: "default-scheduler" } as Pod["spec"],
      } as Pod);
      const ours = await decide({
        ...scenario.pod,
        spec: { ...scenario.pod.spec, schedulerName: "ours" } as Pod["spec"],
      } as Pod);
      await clear(scenario);
      assert.equal(ours, theirs);
    });
  }

  it("removes the least important pods for one that matters more, and says so", async () => {
    const there = [
      onNode("a", testPod("x", { cpu: "1500m" })),
      onNode("b", testPod("y", { cpu: "1500m", priorityClassName: "high" })),
    ];
    const scenario = { nodes: [testNode("a"), testNode("b")], there, pod: testPod("p") };
    await arrange(scenario);
    await client.create(Pod, testPod("p", { cpu: "1", priorityClassName: "high", schedulerName: "ours" }));
    const nominated = await until("p", (pod) => (pod?.status?.nominatedNodeName ?? "") !== "");
    assert.equal(nominated?.status?.nominatedNodeName, "a");
    const victim = await until("x", (pod) => pod?.metadata.deletionTimestamp !== undefined);
    assert.ok(
      victim?.status?.conditions?.some(
        ({ type, reason }) => type === "DisruptionTarget" && reason === "PreemptionByScheduler",
      ),
    );
    await client.delete(Pod, key("x"), { gracePeriodSeconds: 0 });
    assert.equal((await until("p", (pod) => pod?.spec?.nodeName !== undefined))?.spec?.nodeName, "a");
    await remove("p");
    await clear(scenario);
  });

  it("tries again once there is room", async () => {
    const scenario = { nodes: [testNode("a")], there: [onNode("a", testPod("x", { cpu: "2" }))], pod: testPod("p") };
    await arrange(scenario);
    await client.create(Pod, testPod("p", { cpu: "1", schedulerName: "ours" }));
    await until(
      "p",
      (pod) =>
        pod?.status?.conditions?.some(({ type, status }) => type === "PodScheduled" && status === "False") ?? false,
    );
    await remove("x");
    await until("p", (pod) => pod?.spec?.nodeName === "a");
    await remove("p");
    await clear(scenario);
  });

  const key = (name: string) => ({ name, namespace: "default" });

  async function arrange({ nodes, there = [] }: Scenario): Promise<void> {
    for (const node of nodes) await client.create(Node, node);
    // Each begins with a taint that goes once the control plane has seen it Ready.
    for (const { metadata } of nodes) {
      const fieldSelector = `metadata.name=${metadata.name}`;
      for await (const { type, object } of client.watch(Node, { fieldSelector, signal: AbortSignal.timeout(60_000) })) {
        if (type === "BOOKMARK" || !("spec" in object)) continue;
        if (!object.spec?.taints?.some(({ key }) => key === "node.kubernetes.io/not-ready")) break;
      }
    }
    const schedulers = ["default-scheduler", "ours"];
    await Promise.all(schedulers.flatMap((name) => nodes.map((node) => seenBy(name, node, nodes.length))));
    for (const { metadata, ...pod } of there) {
      const { uid: _, ...rest } = metadata;
      await client.create(Pod, { ...pod, metadata: rest });
    }
  }

  /** Waits until a scheduler knows that the taint is gone, which it hears later than we may: a pod for that node tells. */
  async function seenBy(schedulerName: string, { metadata, spec }: Node, count: number): Promise<void> {
    const name = `probe-${metadata.name}-${schedulerName}`;
    const matchFields = [{ key: "metadata.name", operator: "In" as const, values: [metadata.name ?? ""] }];
    const taints = [...(spec?.taints ?? []), { key: "node.kubernetes.io/unschedulable" }];
    const tolerations = taints.map(({ key }) => ({ key, operator: "Exists" as const }));
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } };
    const { metadata: probe, ...pod } = testPod(name, {
      affinity: { nodeAffinity: required },
      tolerations,
      schedulerName,
    });
    await client.create(Pod, { ...pod, metadata: { name: probe.name, namespace: probe.namespace } as Pod["metadata"] });
    await until(name, (one) => {
      const message = said(one);
      const isKnown = message?.startsWith(`0/${count} nodes`) && !message.includes("untolerated");
      return (one?.spec?.nodeName ?? "") !== "" || isKnown === true;
    });
    await remove(name);
  }

  async function clear({ nodes, there = [] }: Scenario): Promise<void> {
    for (const { metadata } of there) await remove(metadata.name ?? "").catch(() => {});
    for (const { metadata } of nodes) await client.delete(Node, { name: metadata.name ?? "" });
  }

  async function remove(name: string): Promise<void> {
    await client.delete(Pod, key(name), { gracePeriodSeconds: 0 });
    await until(name, (pod) => pod === undefined);
  }

  /** The node, or the reason why there is none. */
  async function decide({ metadata, ...pod }: Pod): Promise<string> {
    const { uid: _, ...rest } = metadata;
    await client.create(Pod, { ...pod, metadata: rest });
    const decided = await until(
      metadata.name ?? "",
      (one) => (one?.spec?.nodeName ?? "") !== "" || said(one) !== undefined,
    );
    await remove(metadata.name ?? "");
    return decided?.spec?.nodeName ?? (said(decided) as string);
  }

  function said(pod: Pod | undefined): string | undefined {
    const condition = pod?.status?.conditions?.find(
      ({ type, status }) => type === "PodScheduled" && status === "False",
    );
    // Of devices that are claimed, which we do not have.
    return condition?.message?.replace("no new claims to deallocate, ", "");
  }

  async function until(name: string, is: (pod: Pod | undefined) => boolean): Promise<Pod | undefined> {
    const signal = AbortSignal.timeout(60_000);
    let last: Pod | undefined;
    const fieldSelector = `metadata.name=${name}`;
    for await (const event of client.watch(Pod, {
      namespace: "default",
      fieldSelector,
      sendInitialEvents: true,
      resourceVersionMatch: "NotOlderThan",
      signal,
    })) {
      if (event.type === "BOOKMARK") {
        if (last === undefined && is(undefined)) return undefined;
        continue;
      }
      last = event.type === "DELETED" ? undefined : event.object;
      if (is(last)) return last;
    }
    throw new Error("the watch has ended");
  }
});
