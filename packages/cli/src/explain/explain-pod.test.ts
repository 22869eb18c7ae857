import assert from "node:assert/strict";
import { test } from "node:test";
import { explainPod } from "./explain-pod.ts";
import type { PodFacts } from "./pod-facts.ts";

const now = Date.parse("2030-01-01T01:00:00Z");
const ready = (status: string, reason = "ProviderReady", message = "the provider answers") => ({
  conditions: [{ type: "Ready", status, reason, message, lastTransitionTime: "2030-01-01T00:58:00Z" }],
});

const ownNode = (name: string, labels: Record<string, string> = {}) => ({ metadata: { name, labels }, spec: {} });
const VIRTUAL = {
  metadata: {
    name: "wave",
    labels: { "fjord.dev/virtual-node": "true", "fjord.dev/tier": "edge", "fjord.dev/site": "b" },
  },
  spec: { taints: [{ key: "fjord.dev/virtual-node", value: "true", effect: "NoSchedule" }] },
};
const required = (...matchExpressions: object[]) => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
  },
});

function facts(change: {
  pod?: object;
  spec?: object;
  status?: object;
  node?: object;
  standing?: string;
  peerStanding?: string;
  phase?: string;
  events?: object[];
  offloading?: object | null;
  nodes?: object[];
  pods?: object[];
}): PodFacts {
  const given = {
    pod: {
      metadata: { name: "web", namespace: "shop", ...change.pod },
      spec: { nodeName: "wave", containers: [], tolerations: [{ operator: "Exists" }], ...change.spec },
      status: {
        phase: "Running",
        conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: "2030-01-01T00:59:00Z" }],
        ...change.status,
      },
    },
    places: {
      sites: [
        { metadata: { name: "harbour" }, spec: {}, status: { role: "Self", id: "a" } },
        { metadata: { name: "lively-wave" }, spec: { id: "b" }, status: { role: "Peer" } },
      ],
      virtualNodes: [
        {
          metadata: { name: "wave" },
          spec: { contract: "c-1" },
          status: { provider: "b", ...ready("True"), ...change.node },
        },
      ],
      contracts: [
        {
          metadata: { name: "c-1" },
          spec: {
            standing: change.standing ?? "Open",
            terms: { provider: "b", consumer: "a", resources: { cpu: "1" }, notAfter: "2030-01-02T00:00:00Z" },
          },
          status: { phase: change.phase ?? "Active", side: "Consumer", peerStanding: change.peerStanding ?? "Open" },
        },
      ],
      peerings: [],
    },
    ...(change.offloading !== null && { offloading: change.offloading ?? { spec: { pods: "Both", sites: {} } } }),
    nodes: change.nodes ?? [ownNode("node-1"), VIRTUAL],
    ...(change.pods && { pods: change.pods }),
    events: change.events ?? [],
    now,
  };
  return given as unknown as PodFacts;
}

test("a pod elsewhere: which site, which node, which contract", () => {
  const { site, node, because, advice } = explainPod(facts({}));
  assert.deepEqual([site, node, advice], ["lively-wave", "wave", []]);
  assert.deepEqual(because, [
    "It is Running at lively-wave: virtual node wave, which stands for that site, was chosen for it 60s ago.",
    "Namespace shop is offloaded: its pods may run here or at other sites, and the scheduler chose.",
    "Contract c-1 with lively-wave is Active: cpu 1, until 2030-01-02T00:00:00Z.",
  ]);
});

test("a site that does not answer, and one that does not take the pod, are told with what to do", () => {
  const away = explainPod(facts({ node: ready("Unknown", "ProviderUnreachable", "the provider has not answered") }));
  assert.match(
    away.because.join("\n"),
    /Node wave has not been ready for 2m: ProviderUnreachable: the provider has not answered\. What is told/,
  );
  assert.match(away.advice.join("\n"), /`fjord sites lively-wave` says whether it answers again/);
  const conditions = [
    { type: "fjord.dev/Offloaded", status: "False", reason: "AmountExceeded", message: "cpu 2 of 1" },
  ];
  const full = explainPod(facts({ status: { phase: "Pending", conditions } }));
  assert.match(full.because.join("\n"), /lively-wave has not taken it: AmountExceeded: cpu 2 of 1\./);
  assert.match(full.advice.join("\n"), /`fjord peer lively-wave --cpu=/);
});

test("of a site whose contract is over nobody is sent to see whether it answers", () => {
  const over = ready("False", "ContractNotActive", "contract c-1 has ended: Expired");
  const { advice } = explainPod(facts({ node: over, phase: "Ended" }));
  assert.deepEqual(advice, [
    "`fjord peer lively-wave` asks for another contract; `fjord move` brings a workload elsewhere meanwhile.",
  ]);
});

test("a pod that waits for a site whose contract is over is told how another one is had", () => {
  const over = [{ type: "Agreed", status: "False", reason: "ContractEnded", message: "" }];
  const peering = (name: string, site: string) => ({
    metadata: { name },
    spec: { site },
    status: { conditions: over },
  });
  const peerings = [peering("second", "lively-wave"), peering("otter", "otter")];
  const pod = { ownerReferences: [{ kind: "StatefulSet", name: "db", controller: true }] };
  const told = (change: Parameters<typeof facts>[0]) => {
    const found = facts({ pod, ...change });
    return explainPod({ ...found, places: { ...found.places, virtualNodes: [], peerings: peerings as never } }).advice;
  };
  const status = unscheduled("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
  const moved = { nodeName: "", ...required({ key: "fjord.dev/site", operator: "In", values: ["b"] }) };
  const wave = "The contract with lively-wave is over: `fjord peer lively-wave --name=second` asks for another one.";
  const otter = "The contract with otter is over: `fjord peer otter` asks for another one.";
  const [first, second = ""] = told({ spec: moved, status });
  assert.equal(first, wave);
  assert.match(second, /`fjord move statefulset\/db anywhere -n shop` leaves the choice/);
  const remote = { spec: { pods: "Remote", sites: {} } };
  assert.deepEqual(told({ spec: { nodeName: "" }, status, offloading: remote }), [wave, otter]);
  const full = unscheduled("0/1 nodes are available: 1 Insufficient cpu.");
  assert.deepEqual(told({ spec: { nodeName: "" }, status: full }), [wave, otter]);
  assert.deepEqual(told({ spec: { nodeName: "" }, status }), [], "no contract would change that");
});

test("a pod that has failed as a whole says why, and waits for nothing", () => {
  const lost = { phase: "Failed", reason: "Lost", message: "contract c-1 was drained" };
  for (const node of [ready("True"), ready("Unknown", "ProviderUnreachable", "the provider has not answered")]) {
    const { because, advice } = explainPod(facts({ status: lost, node }));
    assert.ok(because.includes("It has failed for good: Lost: contract c-1 was drained."), because.join("\n"));
    assert.deepEqual(advice, []);
  }
});

const unscheduled = (message: string) => ({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
});

test("a pod whose claim is not bound is told that no site helps before it is, and what it needs", () => {
  for (const said of [
    "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: not helpful.",
    "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.",
  ]) {
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "orders" } }];
    const { because, advice } = explainPod(facts({ spec: { nodeName: "", volumes }, status: unscheduled(said) }));
    assert.match(because.join("\n"), /a volume claim that is not bound here, and no site is any help before it is/);
    assert.doesNotMatch(because.join("\n"), /would do if its contract has room/);
    assert.match(advice.join("\n"), /`kubectl describe pvc orders -n shop`.*for a pod elsewhere one there too/);
  }
});

test("a pod that is to run elsewhere only, and has no elsewhere, is told so with what to do", () => {
  const remote = facts({
    spec: { nodeName: "" },
    status: unscheduled("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."),
    offloading: { spec: { pods: "Remote", sites: {} } },
    nodes: [ownNode("node-1")],
  });
  const peering = {
    metadata: { name: "wave" },
    status: {
      conditions: [{ type: "Agreed", status: "False", reason: "NotSharing", message: "the provider shares nothing" }],
    },
  };
  const places = { ...remote.places, virtualNodes: [], peerings: [] };
  const alone = explainPod({ ...remote, places });
  assert.match(alone.because.join("\n"), /No other site is a node of this one yet\./);
  assert.match(alone.advice.join("\n"), /`fjord peer` makes another site's resources a node of this one/);
  const waits = explainPod({ ...remote, places: { ...places, peerings: [peering] as never } });
  assert.match(waits.because.join("\n"), /yet \(peering wave: the provider shares nothing\)\./);
});

test("of two contracts with a site each is told of by its node", () => {
  const one = facts({
    spec: { nodeName: "" },
    status: unscheduled("0/3 nodes are available."),
    offloading: { spec: { pods: "Local", sites: {} } },
  });
  const second = { ...one.places.virtualNodes[0], metadata: { name: "second" }, spec: { contract: "c-1" } };
  const virtualNodes = [...one.places.virtualNodes, second] as never;
  const { because } = explainPod({ ...one, places: { ...one.places, virtualNodes } });
  assert.match(because.join("\n"), /lively-wave \(node wave\) is no help.*lively-wave \(node second\) is no help/s);
});

test("a pod at home, of a namespace that may not leave", () => {
  const { because, site } = explainPod(facts({ spec: { nodeName: "node-1" }, offloading: null }));
  assert.equal(site, "harbour");
  assert.match(
    because.join("\n"),
    /It is Running here, at harbour: node node-1 was chosen for it 60s ago\.\nNamespace shop is not offloaded, so its pods run here only\./,
  );
});

test("of a pod elsewhere whose namespace is not offloaded nobody knows whether it ever was", () => {
  const { because } = explainPod(facts({ offloading: null }));
  assert.match(
    because[1] ?? "",
    /^Namespace shop is not offloaded: no pod of it begins there, and those from a time when it was/,
  );
});

test("a pod that waits: the scheduler's words, each site's obstacle, and what would help", () => {
  const message = "0/2 nodes are available: 1 Insufficient cpu.";
  const status = {
    phase: "Pending",
    conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
  };
  const waiting = (change: Parameters<typeof facts>[0]) =>
    explainPod(facts({ spec: { nodeName: undefined }, status, ...change }));
  const alone = waiting({ offloading: null });
  assert.match(alone.because.join("\n"), /the scheduler found no node for it\. In its words: 0\/2 nodes/);
  assert.match(alone.because.join("\n"), /lively-wave is no help: pods of this namespace may not run there\./);
  assert.deepEqual(alone.advice, [
    "`fjord offload shop` lets pods that are made from then on run at other sites: make this one anew, and it may.",
  ]);
  assert.match(
    waiting({ standing: "Cordoned" }).because.join("\n"),
    /lively-wave is no help: its contract is cordoned\./,
  );
  assert.match(
    waiting({ peerStanding: "Cordoned" }).because.join("\n"),
    /lively-wave is no help: its contract is cordoned by lively-wave\./,
  );
  assert.match(
    waiting({ node: ready("False", "ContractNotActive", "it ended") }).because.join("\n"),
    /node wave is not ready: ContractNotActive/,
  );
  assert.match(waiting({}).because.join("\n"), /lively-wave would do if its contract has room\. Contract c-1/);
  const gated = explainPod(facts({ spec: { nodeName: undefined, schedulingGates: [{ name: "example.com/wait" }] } }));
  assert.match(gated.because.join("\n"), /while it has the gates example\.com\/wait/);
});

test("containers that wait or fail, and warnings, each sort once", () => {
  const containerStatuses = [
    {
      name: "a",
      restartCount: 3,
      ready: false,
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off" } },
    },
    { name: "b", restartCount: 0, ready: false, state: { terminated: { exitCode: 2, reason: "Error" } } },
  ];
  const event = {
    type: "Warning",
    reason: "Unhealthy",
    message: "probe failed",
    lastTimestamp: "2030-01-01T00:59:30Z",
    metadata: {},
  };
  const { because } = explainPod(facts({ status: { containerStatuses }, events: [event, event] }));
  assert.ok(because.includes("Container a waits (3 restarts): CrashLoopBackOff: back-off."));
  assert.ok(because.includes("Container b ended with 2: Error."));
  assert.deepEqual(
    because.filter((each) => each.startsWith("Event")),
    ["Event 30s ago: Unhealthy: probe failed"],
  );
});

test("what was warned of before the containers of a failed pod began is no part of the reason", () => {
  const terminated = { exitCode: 1, reason: "Error", startedAt: "2030-01-01T00:59:00Z" };
  const containerStatuses = [{ name: "a", restartCount: 0, ready: false, state: { terminated } }];
  const warned = (reason: string, lastTimestamp: string) => ({
    ...{ type: "Warning", reason, message: "words", lastTimestamp, metadata: {} },
  });
  const events = [warned("Killing", "2030-01-01T00:59:30Z"), warned("MissingClusterDNS", "2030-01-01T00:59:00Z")];
  const { because } = explainPod(facts({ status: { phase: "Failed", containerStatuses }, events }));
  assert.deepEqual(
    because.filter((each) => /^(Event|Warned)/.test(each)),
    [
      "Event 30s ago: Killing: words",
      "Warned of before its containers began: MissingClusterDNS; `kubectl describe pod` has the words.",
    ],
  );
});

test("what its own wishes leave of where it may run is told, and what was no choice is called none", () => {
  const told = (change: Parameters<typeof facts>[0]) => explainPod(facts(change)).because[1];
  const home = { nodeName: "node-1", ...required({ key: "fjord.dev/virtual-node", operator: "DoesNotExist" }) };
  assert.equal(
    told({ spec: home }),
    "Namespace shop is offloaded, but this pod may run here only: its node affinity asks for no label fjord.dev/virtual-node, and node wave has fjord.dev/virtual-node=true.",
  );
  const edge = required({ key: "fjord.dev/tier", operator: "In", values: ["edge"] });
  assert.equal(
    told({ spec: edge }),
    "Namespace shop is offloaded, and this pod may run at lively-wave only: its node affinity asks for fjord.dev/tier In [edge], and node node-1 has no label fjord.dev/tier.",
  );
  assert.equal(
    told({ spec: { nodeName: "node-1", tolerations: [] } }),
    "Namespace shop is offloaded, but this pod may run here only: it does not tolerate virtual nodes, as pods do that are made once the namespace is offloaded.",
  );
  const second = { ...VIRTUAL, metadata: { name: "wood", labels: { "fjord.dev/virtual-node": "true", disk: "ssd" } } };
  assert.equal(
    told({
      spec: { nodeName: "node-1", nodeSelector: { disk: "ssd" } },
      nodes: [ownNode("node-1", { disk: "ssd" }), VIRTUAL, second],
    }),
    "Namespace shop is offloaded: this pod may run here or at wood, and the scheduler chose; not at lively-wave: its nodeSelector asks for disk=ssd, and node wave has no label disk.",
  );
  assert.match(told({ nodes: [ownNode("node-1")] }) ?? "", /but none is a node of this one yet\.$/);
  const moved = explainPod(facts({ spec: required({ key: "fjord.dev/site", operator: "In", values: ["b"] }) })).because;
  assert.equal(moved[1], "Namespace shop is offloaded: its pods may run here or at other sites.");
  assert.match(moved[2] ?? "", /its node affinity names the site lively-wave/);
});

test("a selector of the offloading is not taken for two wishes of the pod", () => {
  const real = { key: "fjord.dev/virtual-node", operator: "DoesNotExist" };
  const virtual = [
    { key: "fjord.dev/virtual-node", operator: "Exists" },
    { key: "fjord.dev/tier", operator: "In", values: ["cloud"] },
  ];
  const nodeSelectorTerms = [{ matchExpressions: [real] }, { matchExpressions: virtual }];
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  const [, said] = explainPod(facts({ spec: { nodeName: "node-1", affinity } })).because;
  assert.equal(
    said,
    "Namespace shop is offloaded, but this pod may run here only: its node affinity asks for fjord.dev/tier In [cloud], and node wave has fjord.dev/tier=edge.",
  );
});

test("of a pod that waits no choice is told, but what each place lacks, and what labels a node", () => {
  const spec = { nodeName: undefined, ...required({ key: "fjord.dev/tier", operator: "In", values: ["cloud"] }) };
  const status = { phase: "Pending", conditions: [] };
  const { because, advice } = explainPod(facts({ spec, status }));
  assert.deepEqual(because.slice(1), [
    "Namespace shop is offloaded with pods=Both: its pods may run here or at other sites.",
    "Here is no help: its node affinity asks for fjord.dev/tier In [cloud], and node node-1 has no label fjord.dev/tier.",
    "lively-wave is no help: its node affinity asks for fjord.dev/tier In [cloud], and node wave has fjord.dev/tier=edge.",
  ]);
  assert.match(advice[0] ?? "", /`kubectl label node node-1 fjord\.dev\/tier=\.\.\.`/);
});

test("warnings from before a pod was ready are over", () => {
  const warning = (reason: string, lastTimestamp: string) => ({
    type: "Warning",
    reason,
    message: "x",
    lastTimestamp,
    metadata: {},
  });
  const early = warning("Unhealthy", "2030-01-01T00:10:00Z");
  const late = warning("BackOff", "2030-01-01T00:50:00Z");
  const conditions = (status: string) => ({
    conditions: [{ type: "Ready", status, lastTransitionTime: "2030-01-01T00:10:00Z" }],
  });
  const told = (status: string) =>
    explainPod(facts({ status: conditions(status), events: [late, early] })).because.slice(-2);
  assert.deepEqual(told("True"), [
    "Event 10m ago: BackOff: x",
    "It is well: warnings from before it was ready (Unhealthy) are over; `kubectl describe pod` has them.",
  ]);
  assert.deepEqual(told("False"), ["Event 10m ago: BackOff: x", "Event 50m ago: Unhealthy: x"]);
});

test("a pod that was deleted is not told to run, least of all at a site that does not answer", () => {
  const pod = { deletionTimestamp: "2030-01-01T00:57:30Z", deletionGracePeriodSeconds: 30 };
  const silent = ready("Unknown", "ProviderUnreachable", "the provider has not answered");
  const away = explainPod(facts({ pod, node: silent }));
  assert.match(away.because[0] ?? "", /^It is being deleted at lively-wave: /);
  assert.match(
    away.because.join("\n"),
    /Somebody asked for its end 3m ago\. lively-wave has not said that it has ended: there it may be Running still/,
  );
  assert.match(away.advice.join("\n"), /answers again: then it ends the pod.*`fjord unpeer lively-wave --force`/);
  assert.equal(away.deletedAt, "2030-01-01T00:57:30Z");
  const here = explainPod(facts({ pod, spec: { nodeName: "node-1" } }));
  assert.match(here.because[0] ?? "", /^It is being deleted here, at harbour: /);
  assert.match(here.because.join("\n"), /asked for its end 3m ago; until then it was Running/);
});

test("a namespace that stays here is named as what keeps a pod from a site that would do", () => {
  const message = "0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) had untolerated taint.";
  const status = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] };
  const waiting = (change: Parameters<typeof facts>[0]) =>
    explainPod(
      facts({ status, offloading: null, ...change, spec: { nodeName: undefined, tolerations: [], ...change.spec } }),
    );
  const owned = { ownerReferences: [{ controller: true }] };
  assert.deepEqual(waiting({ pod: owned }).advice, [
    "`fjord offload shop` lets pods that are made from then on run at other sites: delete this one, and the one in its place may.",
  ]);
  assert.match(
    waiting({ offloading: { spec: { pods: "Local", sites: {} } } }).advice.join(),
    /`fjord offload shop --pods=Both`/,
  );
  for (const hopeless of [
    { standing: "Cordoned" },
    { peerStanding: "Drained" },
    { node: ready("Unknown") },
    { spec: { nodeSelector: { disk: "ssd" } } },
    { status: { phase: "Pending", conditions: [] } },
  ])
    assert.deepEqual(waiting(hopeless).advice, [], JSON.stringify(hopeless));
});

test("a pod that asks for more than a whole contract, or any node here, has: by how much, and what would do", () => {
  const status = {
    phase: "Pending",
    conditions: [{ type: "PodScheduled", status: "False", message: "0/2 nodes are available: 2 Insufficient cpu." }],
  };
  const containers = [{ name: "a", resources: { requests: { cpu: "9", memory: "8Gi" } } }];
  const nodes = [{ ...ownNode("node-1"), status: { allocatable: { cpu: "2", memory: "4Gi" } } }, VIRTUAL];
  const { because, advice } = explainPod(facts({ status, nodes, spec: { nodeName: undefined, containers } }));
  assert.deepEqual(because.slice(2), [
    "Here is no help: it asks for cpu 9 and memory 8Gi, and no node here has more than cpu 2 and memory 4Gi.",
    "lively-wave is no help: it asks for cpu 9, and contract c-1 has altogether cpu 1.",
  ]);
  assert.deepEqual(advice, ["`fjord peer lively-wave --cpu=9` or more asks for a contract that has room for it."]);
  const small = [{ name: "a", resources: { requests: { cpu: "500m" } } }];
  const fits = explainPod(facts({ status, nodes, spec: { nodeName: undefined, containers: small } }));
  assert.match(fits.because.join("\n"), /lively-wave would do if its contract has room/);
  assert.doesNotMatch(fits.because.join("\n"), /Here is no help/);
  const home = explainPod(facts({ status, nodes, offloading: null, spec: { nodeName: undefined, containers } }));
  assert.match(
    home.because.join("\n"),
    /may not run there; and it asks for cpu 9, and contract c-1 has altogether cpu 1\./,
  );
});

test("a site named where its id belongs, and one that was forgotten, are told apart, with the command that helps", () => {
  const status = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "0/2 nodes" }] };
  const web = {
    labels: { "pod-template-hash": "7d4" },
    ownerReferences: [{ kind: "ReplicaSet", name: "web-7d4", controller: true }],
  };
  const asked = (site: string, pod: object = web) => {
    const spec = { nodeName: undefined, ...required({ key: "fjord.dev/site", operator: "In", values: [site] }) };
    return explainPod(facts({ pod, spec, status }));
  };
  const byName = asked("lively-wave");
  assert.ok(
    byName.because.includes(
      "Its node affinity asks for fjord.dev/site In [lively-wave]: that label holds a site's id, not its name, and the id of lively-wave is b.",
    ),
  );
  assert.doesNotMatch(byName.because.join("\n"), /lets it run at|is to run elsewhere/);
  assert.deepEqual(byName.advice, [
    "`fjord move deployment/web lively-wave -n shop` asks for that site by its id, and `fjord move deployment/web anywhere -n shop` leaves the choice to the scheduler.",
  ]);
  const forgotten = asked("z");
  assert.match(forgotten.because.join("\n"), /no site of that id is known here: it was forgotten/);
  assert.deepEqual(forgotten.advice, [
    "`fjord move deployment/web anywhere -n shop` leaves the choice to the scheduler.",
  ]);
  assert.match(asked("z", {}).advice.join(), /^Nothing makes this pod anew/);
  const known = asked("a");
  assert.match(known.because.join("\n"), /lets it run at harbour only.*lively-wave is no help: the pod is to run/s);
});

test("a claim that is not there is named, and no site is said to do", () => {
  const message = '0/2 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/2';
  const status = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] };
  const { because, advice } = explainPod(facts({ spec: { nodeName: undefined }, status }));
  assert.match(because[1] ?? "", /the volume claim data, which namespace shop does not have/);
  assert.doesNotMatch(because.join("\n"), /would do/);
  assert.match(advice.join(), /`kubectl get persistentvolumeclaims -n shop`/);
});

test("what a runtime or a site refuses is said once, ends with one full stop, and comes with what to do", () => {
  const waiting = {
    reason: "RuntimeUnsupported",
    message: "Container c names no command; an image is only a label to it.",
  };
  const containerStatuses = ["c", "d"].map((name) => ({ name, restartCount: 0, ready: false, state: { waiting } }));
  const unsupported = explainPod(facts({ status: { phase: "Pending", containerStatuses } }));
  const lines = unsupported.because.filter((line) => line.includes("RuntimeUnsupported"));
  assert.deepEqual(lines, [
    "Its containers wait: RuntimeUnsupported: Container c names no command; an image is only a label to it.",
  ]);
  assert.match(unsupported.advice.join(), /give each container a `command`/);
  const message = "it cannot run at another site: hostNetwork.";
  const conditions = [{ type: "fjord.dev/Offloaded", status: "False", reason: "OffloadingRefused", message }];
  const refused = explainPod(facts({ status: { phase: "Pending", conditions } }));
  assert.ok(refused.because.includes(`lively-wave has not taken it: OffloadingRefused: ${message}`));
  assert.match(refused.advice.join(), /^Take out of it what lively-wave refuses, or ask the owner of lively-wave/);
  assert.match(refused.advice.join(), /--guest-privilege` of the agent there/);
  const looked = { ...conditions[0], reason: "PodRefused", message: "not given to guests: container a is privileged" };
  const privileged = explainPod(facts({ status: { phase: "Pending", conditions: [looked] } }));
  assert.deepEqual(privileged.advice, refused.advice);
  const full = [{ ...conditions[0], message: "quota exceeded: this consumer has 3 pods" }];
  const tooMuch = explainPod(facts({ status: { phase: "Pending", conditions: full } }));
  assert.match(tooMuch.advice.join(), /`sharing.objects` of the Site there/);
});

test("a burst that has filled the own nodes and a slice: both are said to be full, and what would be enough", () => {
  const message = "0/2 nodes are available: 2 Insufficient cpu.";
  const status = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] };
  const containers = [{ name: "a", resources: { requests: { cpu: "400m" } } }];
  const on = (nodeName: string, phase = "Running") => ({ spec: { nodeName, containers }, status: { phase } });
  const sized = (node: object, cpu: string) => ({ ...node, status: { allocatable: { cpu, pods: "10" } } });
  const nodes = [sized(ownNode("node-1"), "1"), sized(VIRTUAL, "1")];
  const told = (pods: object[]) =>
    explainPod(facts({ status, nodes, pods, spec: { nodeName: undefined, containers } }));
  const full = told([on("node-1"), on("node-1"), on("wave"), on("wave"), on("wave", "Succeeded")]);
  assert.deepEqual(full.because.slice(2), [
    "Here is full: it asks for cpu 400m, and no node here has more left than cpu 200m.",
    "lively-wave is full: it asks for cpu 400m, and of contract c-1 there is left cpu 200m.",
  ]);
  assert.deepEqual(full.advice, [
    "`fjord peer lively-wave --cpu=1200m` or more asks for a contract that has room for it.",
  ]);
  const roomy = told([on("node-1"), on("node-1"), on("wave")]);
  assert.match(roomy.because.join("\n"), /lively-wave would do if its contract has room/);
});
