import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Pod } from "@fjord/kube";
import { inThousandths, podLimits, podRequests, qosClass, selectsNode } from "@fjord/kube";
import type { Container, PodSpec } from "../pod/pod-containers.ts";
import { newPod } from "../pod/testing/pod-bench.ts";
import { containerResources, wholePodResources } from "./container-resources.ts";
import { NodeLedger } from "./node-ledger.ts";
import { oomScoreAdjust } from "./oom-score.ts";
import { forbiddenSysctl } from "./sysctls.ts";

type Resources = NonNullable<Container["resources"]>;

const pod = (...containers: Resources[]): Pod =>
  newPod("p", { containers: containers.map((resources, index) => ({ name: `c${index}`, resources })) });
const cpu = (amount: string): Resources => ({ requests: { cpu: amount } });
const both = { cpu: "1", memory: "1Gi" };

describe("quality of service", () => {
  for (const [what, subject, expected] of [
    ["nothing asked for", pod({}), "BestEffort"],
    ["all limited", pod({ limits: both }), "Guaranteed"],
    [
      "limits and equal requests, written differently",
      pod({ limits: both, requests: { cpu: "1000m", memory: "1024Mi" } }),
      "Guaranteed",
    ],
    ["a smaller request", pod({ limits: both, requests: { cpu: "500m", memory: "1Gi" } }), "Burstable"],
    ["one container without", pod({ limits: both }, {}), "Burstable"],
    ["only storage asked for", pod({ requests: { "ephemeral-storage": "1Gi" } }), "BestEffort"],
    ["zero asked for", pod({ requests: { cpu: "0" } }), "BestEffort"],
    ["the pod as a whole limited", newPod("p", { resources: { limits: both, requests: both } }), "Guaranteed"],
  ] as const) {
    test(`${what}: ${expected}`, () => assert.equal(qosClass(subject), expected));
  }
});

describe("what a pod asks for", () => {
  const init = (name: string, amount: string, isSidecar = false) => ({
    name,
    resources: cpu(amount),
    ...(isSidecar && { restartPolicy: "Always" }),
  });
  const request = (spec: Partial<PodSpec>) => inThousandths(podRequests(newPod("p", spec)).get("cpu") ?? 0n);
  const containers = [{ name: "a", resources: cpu("1") }];

  test("is the sum of its main containers, or its largest init container", () => {
    assert.equal(request({ containers: [...containers, { name: "b", resources: cpu("500m") }] }), 1500);
    assert.equal(request({ containers, initContainers: [init("i", "3")] }), 3000);
  });
  test("counts sidecars beside main containers, and beside init containers that come after them", () => {
    assert.equal(request({ containers, initContainers: [init("s", "1", true)] }), 2000);
    assert.equal(request({ containers, initContainers: [init("s", "1", true), init("i", "3")] }), 4000);
    assert.equal(request({ containers, initContainers: [init("i", "3"), init("s", "1", true)] }), 3000);
  });
  test("has its overhead on top, and is what it says as a whole", () => {
    assert.equal(request({ containers, overhead: { cpu: "250m" } }), 1250);
    assert.equal(request({ containers, resources: { requests: { cpu: "5" } } }), 5000);
  });
  test("is bounded only where each container is", () => {
    assert.equal(podLimits(pod({ limits: both }, {})).size, 0);
    assert.equal(wholePodResources(pod({ limits: both }, { limits: both })).cpuLimit, 2000);
  });
});

test("a container's resources are told in the machine's terms", () => {
  const subject = pod({ limits: { cpu: "1500m", memory: "64Mi", "hugepages-2Mi": "4Mi" } });
  assert.deepEqual(containerResources(subject, subject.spec?.containers[0] ?? {}, 2 ** 30), {
    cpuRequest: 1500,
    cpuLimit: 1500,
    memoryRequest: 64 * 2 ** 20,
    memoryLimit: 64 * 2 ** 20,
    oomScoreAdjust: -997,
    hugePages: { "2Mi": 4 * 2 ** 20 },
  });
});

test("the more memory a container asks for, the later it is killed", () => {
  const score = (resources: Resources, priority?: number) => {
    const subject = newPod("p", {
      containers: [{ name: "c", resources }],
      ...(priority !== undefined && { priority }),
    });
    return oomScoreAdjust(subject, subject.spec?.containers[0] ?? {}, 2 ** 30);
  };
  assert.equal(score({}), 1000);
  assert.equal(score({ requests: { memory: "512Mi" } }), 500);
  assert.equal(score({ requests: { memory: "1Mi" } }), 999);
  assert.equal(score({ requests: { memory: "1Gi" } }), 3);
  assert.equal(score({ limits: both }), -997);
  assert.equal(score({}, 2_000_001_000), -997);
});

describe("a node's room", () => {
  const ledger = (labels?: Record<string, string>) =>
    new NodeLedger({
      nodeName: "n",
      allocatable: () => ({ cpu: 4000, memory: 2 ** 30, pods: 3 }),
      ...(labels && { labels: () => labels }),
    });
  const named = (name: string, spec: Partial<PodSpec> = {}) => newPod(name, spec);
  const withPort = (name: string, hostPort: number, hostIP?: string) =>
    named(name, { containers: [{ name: "c", ports: [{ containerPort: 1, hostPort, ...(hostIP && { hostIP }) }] }] });

  test("is given once, and given back", () => {
    const room = ledger();
    assert.equal(room.admit(named("a", { containers: [{ name: "c", resources: cpu("3") }] })), undefined);
    const refused = room.admit(named("b", { containers: [{ name: "c", resources: cpu("2") }] }));
    assert.deepEqual(refused, {
      reason: "OutOfcpu",
      message: "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
    });
    room.leave("uid-a");
    assert.equal(room.admit(named("b", { containers: [{ name: "c", resources: cpu("2") }] })), undefined);
  });
  test("ends with the number of pods", () => {
    const room = ledger();
    for (const name of ["a", "b", "c"]) assert.equal(room.admit(named(name)), undefined);
    assert.equal(room.admit(named("d"))?.reason, "OutOfpods");
    assert.equal(room.admit(named("a")), undefined, "who is there stays");
  });
  test("has each port of the machine once", () => {
    const room = ledger();
    assert.equal(room.admit(withPort("a", 80, "192.0.2.1")), undefined);
    assert.equal(room.admit(withPort("b", 80, "192.0.2.2")), undefined);
    assert.equal(room.admit(withPort("c", 80))?.reason, "NodePorts");
  });
  test("is for pods that select the node", () => {
    const room = ledger({ zone: "a" });
    assert.equal(room.admit(named("a", { nodeSelector: { zone: "a" } })), undefined);
    assert.equal(room.admit(named("b", { nodeSelector: { zone: "b" } }))?.reason, "NodeAffinity");
  });
  test("has no pages of a size that the machine does not have", () => {
    const resources = { requests: { "hugepages-1Gi": "1Gi" } };
    const refusal = ledger().admit(named("a", { containers: [{ name: "c", resources }] }));
    assert.equal(refusal?.reason, "OutOfhugepages-1Gi");
  });
  test("does not hinder who asks for extended resources that the node does not have, but they can be told", () => {
    const resources = { requests: { "example.com/gpu": "1", "example.com/none": "0", cpu: "1" } };
    const asking = named("a", { containers: [{ name: "c", resources }] });
    const room = ledger();
    assert.equal(room.admit(asking), undefined);
    assert.deepEqual(room.uncounted(asking), ["example.com/gpu"]);
    const having = new NodeLedger({ nodeName: "n", allocatable: () => ({ "example.com/gpu": 0 }) });
    assert.deepEqual(having.uncounted(asking), []);
    assert.equal(having.admit(asking)?.reason, "OutOfexample.com/gpu");
  });
  test("is not for other systems, nor for kernel settings that would be noticed outside", () => {
    assert.equal(ledger().admit(named("a", { os: { name: "windows" } }))?.reason, "PodOSNotSupported");
    const sysctls = [{ name: "kernel/msgmax", value: "1" }];
    assert.deepEqual(ledger().admit(named("b", { securityContext: { sysctls } })), {
      reason: "SysctlForbidden",
      message: 'forbidden sysctl: "kernel.msgmax" not allowlisted',
    });
    assert.equal(forbiddenSysctl(named("b", { securityContext: { sysctls } }), ["kernel.msg*"]), undefined);
  });
});

test("node affinity is held against labels and name", () => {
  const affine = (term: object) =>
    newPod("p", {
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } },
    });
  const node = { name: "n", labels: { cores: "8", zone: "a" } };
  const expression = (key: string, operator: string, ...values: string[]) =>
    selectsNode(affine({ matchExpressions: [{ key, operator, values }] }), node);
  assert.equal(expression("zone", "In", "a", "b"), true);
  assert.equal(expression("zone", "NotIn", "a"), false);
  assert.equal(expression("other", "NotIn", "a"), true);
  assert.equal(expression("zone", "Exists"), true);
  assert.equal(expression("zone", "DoesNotExist"), false);
  assert.equal(expression("cores", "Gt", "4"), true);
  assert.equal(expression("cores", "Lt", "4"), false);
  const field = { key: "metadata.name", operator: "In", values: ["n"] };
  assert.equal(selectsNode(affine({ matchFields: [field] }), node), true);
  assert.equal(selectsNode(affine({}), node), false, "an empty term selects nothing");
});
