import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ShadowPod } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import type { PodStatus } from "@fjord/node/pod-status";
import fc from "fast-check";
import { withReach } from "./home-conditions.ts";
import { homeStatus, OFFLOADED_CONDITION, refusedStatus, type StatusSources } from "./home-status.ts";

const created = Date.parse("2030-01-01T00:00:00Z");
const now = created + 3_600_000;

function podOf(status: PodStatus = { phase: "Pending" }, spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "u", generation: 1, creationTimestamp: "2030-01-01T00:00:00Z" },
    spec: { nodeName: "wave", containers: [{ name: "main", image: "busybox:1" }], ...spec },
    status: { qosClass: "BestEffort", ...status },
  };
}

const running: PodStatus = {
  phase: "Running",
  startTime: "2030-01-01T00:00:01Z",
  hostIP: "192.168.7.7",
  podIP: "10.1.0.5",
  podIPs: [{ ip: "10.1.0.5" }],
  nominatedNodeName: "secret-node",
  qosClass: "Guaranteed",
  conditions: [
    { type: "Ready", status: "True" },
    { type: "example.com/mine", status: "True" },
  ],
  containerStatuses: [
    {
      name: "main",
      image: "busybox:1",
      imageID: "sha256:1",
      containerID: "containerd://1",
      ready: true,
      started: true,
      restartCount: 2,
      state: { running: { startedAt: "2030-01-01T00:00:02Z" } },
    },
  ],
};

function map(guest: unknown, more: Partial<StatusSources> = {}): PodStatus | undefined {
  const guests = guest === undefined ? {} : { guest: { status: guest as PodStatus } };
  return homeStatus({ pod: podOf(), ...guests, hostIPs: ["10.9.9.9"], now, ...more });
}

/** Every time in it. */
function timesOf(status: PodStatus | undefined): string[] {
  const times = JSON.stringify(status).matchAll(/"\d{4}-\d\d-\d\dT[^"]*"/g);
  return [...times].map(([time]) => time.slice(1, -1));
}

const shadowWith = (status: unknown) => ({ status }) as Pick<ShadowPod, "status">;
const condition = (status: PodStatus | undefined, type: string) =>
  status?.conditions?.find((each) => each.type === type);

describe("the status of a pod that runs elsewhere", () => {
  it("says when by the own clock, and the same however late it is asked", () => {
    const ahead = 7 * 60_000;
    const started = new Date(created + 2_000 + ahead).toISOString();
    const [container] = running.containerStatuses ?? [];
    const guest = { ...running, containerStatuses: [{ ...container, state: { running: { startedAt: started } } }] };
    for (const at of [created + 3_000, created + 30_000]) {
      const [own] = map(guest, { now: at, clockAhead: ahead })?.containerStatuses ?? [];
      assert.equal(own?.state?.running?.startedAt, "2030-01-01T00:00:02Z");
    }
  });

  it("says no time that is yet to come at home, in order, and the same however late it is asked", () => {
    const [{ containerID: _, ...container } = {}] = running.containerStatuses ?? [];
    const soon = (seconds: number) => new Date(now + seconds * 1_000).toISOString();
    for (const ids of [
      [{ containerID: "containerd://1" }, { containerID: "containerd://2" }],
      [{}, {}],
    ] as const) {
      const first = { running: { startedAt: soon(40) } };
      const ended = { terminated: { exitCode: 1, startedAt: soon(40), finishedAt: soon(60), ...ids[0] } };
      const second = { running: { startedAt: soon(120) } };
      let pod = podOf();
      const told = [];
      for (const [at, more] of [
        [0, { ...ids[0], restartCount: 0, state: first }],
        [50, { ...ids[0], restartCount: 0, state: first }],
        [52, { ...ids[0], restartCount: 0, state: ended }],
        [90, { ...ids[0], restartCount: 0, state: ended }],
        [95, { ...ids[1], restartCount: 1, state: second, lastState: ended }],
        [150, { ...ids[1], restartCount: 1, state: second, lastState: ended }],
      ] as const) {
        const guest = { ...running, startTime: soon(30), containerStatuses: [{ ...container, ...more }] };
        const status = map(guest, { pod, now: now + at * 1_000 });
        const late = timesOf(status).filter((time) => Date.parse(time) > now + at * 1_000);
        assert.deepEqual(late, [], `after ${at} s`);
        const { state, lastState } = status?.containerStatuses?.[0] ?? {};
        const { startedAt, finishedAt } = state?.terminated ?? lastState?.terminated ?? {};
        told.push([state?.running?.startedAt, startedAt, finishedAt].map((time) => time?.slice(14, 19)));
        pod = podOf(status);
      }
      assert.deepEqual(told, [
        ["00:00", undefined, undefined],
        ["00:00", undefined, undefined],
        [undefined, "00:00", "00:52"],
        [undefined, "00:00", "00:52"],
        ["01:35", "00:00", "00:52"],
        ["01:35", "00:00", "00:52"],
      ]);
    }
  });

  it("takes back times that are yet to come, whoever wrote them", () => {
    const early = map(running, { now: now + 600_000 });
    const late = map(running, { pod: podOf(early), now });
    for (const time of timesOf(late)) assert.ok(Date.parse(time) <= now, time);
    const later = map(running, { pod: podOf(late), now: now + 5_000 });
    assert.deepEqual(condition(later, "Ready"), condition(late, "Ready"));
  });

  it("says what the provider says of phase, address and containers", () => {
    const status = map(running);
    assert.equal(status?.phase, "Running");
    assert.equal(status?.podIP, "10.1.0.5");
    assert.deepEqual(status?.containerStatuses?.[0], { ...running.containerStatuses?.[0] });
    for (const type of ["Ready", "ContainersReady", "Initialized", "PodReadyToStartContainers"]) {
      assert.equal(condition(status, type)?.status, "True", type);
    }
  });

  it("believes no address of this machine's but those that are allowed", () => {
    const named = (ip: string, onLoopback?: StatusSources["onLoopback"]) =>
      map({ ...running, podIP: ip, podIPs: [{ ip }] }, onLoopback === undefined ? {} : { onLoopback })?.podIP;
    for (const ip of ["127.0.0.1", "127.89.0.1", "::1", "::ffff:127.0.0.1"]) assert.equal(named(ip), undefined, ip);
    const onLoopback = (address: string) => address.startsWith("127.89.");
    assert.equal(named("127.89.0.1", onLoopback), "127.89.0.1");
    for (const ip of ["127.0.0.1", "::1", "::ffff:127.89.0.1", "127.89.0.1%lo"])
      assert.equal(named(ip, onLoopback), undefined, ip);
  });

  it("believes no address in other words that it does not believe in its usual ones", () => {
    const named = (ip: string) => map({ ...running, podIP: ip, podIPs: [{ ip }] })?.podIP;
    const special = [
      "0:0:0:0:0:0:0:1",
      "0::1",
      "::0:1",
      "::",
      "0:0:0:0:0:ffff:7f00:1",
      "::127.0.0.1",
      "FE80::1",
      "ff02::1",
    ];
    for (const ip of [...special, "0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255"])
      assert.equal(named(ip), undefined, ip);
    for (const ip of ["10.1.0.5", "fd00::1", "2001:db8::1", "172.16.0.1"]) assert.equal(named(ip), ip);
  });

  it("counts no more restarts than an API server can read", () => {
    const [main] = running.containerStatuses ?? [];
    const guest = { ...running, containerStatuses: [{ ...main, restartCount: 2 ** 31 - 1 } as never] };
    const status = map(guest, { shadow: shadowWith({ recreations: 1_000_000 }) });
    assert.equal(status?.containerStatuses?.[0]?.restartCount, 2 ** 31 - 1);
  });

  it("says of the node, the class and the conditions what home says", () => {
    const status = map(running);
    assert.equal(status?.hostIP, "10.9.9.9");
    assert.equal(status?.qosClass, "BestEffort");
    assert.equal(condition(status, "example.com/mine"), undefined);
    assert.ok(!JSON.stringify(status).includes("secret-node"));
    assert.ok(!JSON.stringify(status).includes("192.168.7.7"));
  });

  it("says nothing new while the pod only waits", () => {
    assert.equal(map(undefined), undefined);
    assert.equal(map({ phase: "Pending" }), undefined);
    assert.equal(map({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] }), undefined);
  });

  it("is ready only once the gates of home are open", () => {
    const spec = { readinessGates: [{ conditionType: "example.com/gate" }] };
    assert.equal(condition(map(running, { pod: podOf({}, spec) }), "Ready")?.status, "False");
    const open = podOf({ conditions: [{ type: "example.com/gate", status: "True" }] }, spec);
    assert.equal(condition(map(running, { pod: open }), "Ready")?.status, "True");
    assert.equal(condition(map(running, { pod: open }), "ContainersReady")?.status, "True");
  });

  it("is not ready where it cannot be reached, though its containers are, and says so", () => {
    const status = map(running, { isCutOff: true });
    assert.deepEqual([condition(status, "Ready")?.status, condition(status, "Ready")?.reason], ["False", "LinkSilent"]);
    assert.equal(condition(status, "ContainersReady")?.status, "True");
    const [main] = running.containerStatuses ?? [];
    const unready = map({ ...running, containerStatuses: [{ ...main, ready: false }] }, { isCutOff: true });
    assert.equal(condition(unready, "Ready")?.reason, "ContainersNotReady");
  });

  it("changes in nothing but that while its provider is silent too", () => {
    const status = map(running);
    assert.ok(status);
    const cut = withReach(status, true, 5_000);
    assert.equal(condition(cut, "Ready")?.reason, "LinkSilent");
    assert.deepEqual({ ...cut, conditions: [] }, { ...status, conditions: [] });
    assert.equal(withReach(cut ?? {}, true, 6_000), undefined);
    const back = withReach(cut ?? {}, false, 7_000);
    assert.deepEqual(
      [
        condition(back, "Ready")?.status,
        condition(back, "Ready")?.reason,
        condition(back, "Ready")?.lastTransitionTime,
      ],
      ["True", undefined, "1970-01-01T00:00:07Z"],
    );
    assert.equal(withReach(status, false, 6_000), undefined);
    assert.equal(withReach({}, true, 6_000), undefined);
  });

  it("is not ready while a container is not, whatever the provider's condition says", () => {
    const [main] = running.containerStatuses ?? [];
    const status = map({ ...running, containerStatuses: [{ ...main, ready: false }] });
    assert.equal(condition(status, "Ready")?.status, "False");
  });

  it("says which init containers are not done, and calls those ready that are", () => {
    const initContainers = ["first", "second", "third"].map((name) => ({ name, image: "busybox:1" }));
    const status = (name: string, ready: boolean, state: object) => ({ name, image: "", imageID: "", ready, state });
    const initContainerStatuses = [
      status("first", true, { terminated: { exitCode: 0 } }),
      // Whoever has failed is not ready, whatever is said.
      status("second", true, { terminated: { exitCode: 1 } }),
    ];
    const guest = { phase: "Pending", startTime: running.startTime, initContainerStatuses };
    const home = map(guest, { pod: podOf(undefined, { initContainers }) });
    assert.deepEqual(
      home?.initContainerStatuses?.map(({ ready }) => ready),
      [true, false, false],
    );
    const { status: is, reason, message } = condition(home, "Initialized") ?? {};
    const words = "containers with incomplete status: [second third]";
    assert.deepEqual([is, reason, message], ["False", "ContainersNotInitialized", words]);
  });

  it("claims to know a generation of the pod only once the guest is that", () => {
    const told = (pod: Pod, isBehind: boolean) => map(running, { pod, isBehind });
    const first = told(podOf(), false);
    assert.equal(first?.observedGeneration, 1);
    const changed = podOf(first);
    changed.metadata.generation = 2;
    assert.equal(told(changed, true)?.observedGeneration, 1);
    assert.equal(condition(told(changed, true), "Ready")?.observedGeneration, 1);
    assert.equal(told(changed, false)?.observedGeneration, 2);
  });

  it("tells of a change of amounts that has yet to be made, and why", () => {
    const told = { type: "PodResizePending", status: "True", reason: "Infeasible", message: "the node is too small" };
    const pending = map({ ...running, conditions: [...(running.conditions ?? []), told] });
    assert.equal(condition(pending, "PodResizePending")?.reason, "Infeasible");
    assert.equal(condition(map(running, { pod: podOf(pending) }), "PodResizePending"), undefined);
    const message = "contract c-1: 4 cpu asked for, 1 of 2 taken";
    const refused = shadowWith({
      conditions: [{ type: "Admitted", status: "False", reason: "AmountExceeded", message }],
    });
    const deferred = condition(map(running, { shadow: refused }), "PodResizePending");
    assert.deepEqual([deferred?.reason, deferred?.message], ["Deferred", message]);
  });

  it("counts a pod that was made again as restarted, and never counts back", () => {
    const shadow = shadowWith({ recreations: 3 });
    assert.equal(map(running, { shadow })?.containerStatuses?.[0]?.restartCount, 5);
    const pod = podOf({
      phase: "Running",
      containerStatuses: [{ ...running.containerStatuses?.[0], restartCount: 9 } as never],
    });
    assert.equal(map(running, { pod })?.containerStatuses?.[0]?.restartCount, 9);
  });

  it("tells of no container that the pod does not have", () => {
    const [main] = running.containerStatuses ?? [];
    const status = map({ ...running, containerStatuses: [main, { ...main, name: "spy" }] });
    assert.deepEqual(
      status?.containerStatuses?.map(({ name }) => name),
      ["main"],
    );
  });

  it("stays ended once it has ended", () => {
    for (const phase of ["Succeeded", "Failed"] as const)
      assert.equal(map(running, { pod: podOf({ phase }) }), undefined);
  });

  it("takes the end of a pod that is no longer there from its shadow", () => {
    const status = map(undefined, {
      shadow: shadowWith({ phase: "Succeeded" }),
      pod: podOf({ ...running, phase: "Running" }),
    });
    assert.equal(status?.phase, "Succeeded");
    assert.equal(condition(status, "Ready")?.reason, "PodCompleted");
    const lost = {
      phase: "Failed",
      conditions: [{ type: "Running", status: "False", reason: "Lost", message: "its node is gone" }],
    };
    const failed = map(undefined, { shadow: shadowWith(lost) });
    assert.deepEqual([failed?.phase, failed?.reason, failed?.message], ["Failed", "Lost", "its node is gone"]);
  });

  it("is pending and not ready while the provider makes a lost pod again", () => {
    const status = map(undefined, { shadow: shadowWith({}), pod: podOf({ ...running }) });
    assert.equal(status?.phase, "Pending");
    assert.equal(condition(status, "Ready")?.status, "False");
    assert.equal(status?.podIP, undefined);
  });

  it("has no container that waits to be made again once the provider has given a lost pod up", () => {
    const before = map(running);
    const recreating = map(undefined, { shadow: shadowWith({}), pod: podOf({ ...before }) });
    assert.deepEqual(recreating?.containerStatuses?.[0]?.state, { waiting: { reason: "Recreating" } });
    const lost = { type: "Running", status: "False", reason: "Lost", message: "contract c-1 was drained" };
    const shadow = shadowWith({ phase: "Failed", conditions: [lost] });
    for (const pod of [podOf({ ...before }), podOf({ ...recreating })]) {
      const failed = map(undefined, { shadow, pod });
      assert.deepEqual([failed?.phase, failed?.reason, failed?.message], ["Failed", "Lost", lost.message]);
      const [main] = failed?.containerStatuses ?? [];
      assert.deepEqual([main?.ready, main?.started], [false, false]);
      assert.equal(main?.state?.terminated?.reason, "ContainerStatusUnknown");
      const refused = refusedStatus({ pod, hostIPs: [], now }, "Lost", "the provider has lost the pod");
      assert.equal(refused.containerStatuses?.[0]?.state?.terminated?.reason, "ContainerStatusUnknown");
    }
  });

  it("is not ready while the provider takes the guest from a node, unless the pod itself is to go", () => {
    const guest = { metadata: { deletionTimestamp: "2030-01-01T00:30:00Z" }, status: running };
    assert.equal(condition(map(undefined, { guest }), "Ready")?.reason, "Recreating");
    const pod = podOf();
    pod.metadata.deletionTimestamp = "2030-01-01T00:30:00Z";
    assert.equal(condition(map(undefined, { guest, pod }), "Ready")?.status, "True");
  });

  it("has not ended with a guest that its provider takes from a node, until the shadow pod says that it has", () => {
    const killed = { exitCode: 137, reason: "Error" };
    for (const [phase, terminated] of [
      ["Failed", killed],
      ["Succeeded", { exitCode: 0, reason: "Completed" }],
    ] as const) {
      const [main] = running.containerStatuses ?? [];
      const status = { ...running, phase, containerStatuses: [{ ...main, ready: false, state: { terminated } }] };
      const guest = { metadata: { deletionTimestamp: "2030-01-01T00:30:00Z" }, status } as StatusSources["guest"];
      const pod = podOf({ ...map(running) });
      const after = homeStatus({ pod, ...(guest && { guest }), shadow: shadowWith({}), hostIPs: ["10.9.9.9"], now });
      assert.deepEqual([after?.phase, condition(after, "Ready")?.reason], ["Running", "Recreating"]);
      assert.deepEqual(after?.containerStatuses?.[0]?.state, pod.status?.containerStatuses?.[0]?.state);
      // Nothing has changed by then.
      assert.equal(
        map(undefined, { pod: podOf({ ...after }), ...(guest && { guest }), shadow: shadowWith({}) }),
        undefined,
      );
      const ended = map(status, { pod, shadow: shadowWith({ phase }) });
      assert.equal(ended?.phase, phase);
    }
  });

  it("has ended with its guest at once where no other would be made, or it is to go itself", () => {
    const failed = { ...running, phase: "Failed" as const };
    const once = podOf({ phase: "Running" }, { restartPolicy: "Never" });
    assert.equal(map(failed, { pod: once, shadow: shadowWith({}) })?.phase, "Failed");
    const going = podOf({ phase: "Running" });
    going.metadata.deletionTimestamp = "2030-01-01T00:30:00Z";
    assert.equal(map(failed, { pod: going, shadow: shadowWith({}) })?.phase, "Failed");
  });

  it("keeps the time of a condition that has not changed", () => {
    const first = map(running);
    const pod = podOf({ ...first });
    const second = map(running, { pod, now: now + 60_000 });
    assert.equal(condition(second, "Ready")?.lastTransitionTime, condition(first, "Ready")?.lastTransitionTime);
  });
});

describe("what keeps a pod from running elsewhere", () => {
  const refusal = { type: "Admitted", status: "False", reason: "AmountExceeded", message: "2 cpu asked for" };

  it("is a condition of the pod, and one that goes when it does", () => {
    const refused = map(undefined, { shadow: shadowWith({ conditions: [refusal] }) });
    assert.equal(refused?.phase, "Pending");
    assert.equal(condition(refused, OFFLOADED_CONDITION)?.reason, "AmountExceeded");
    assert.equal(condition(refused, OFFLOADED_CONDITION)?.message, "2 cpu asked for");
    const accepted = map(running, { pod: podOf({ ...refused }) });
    assert.equal(condition(accepted, OFFLOADED_CONDITION)?.status, "True");
  });

  it("may be that no node takes it", () => {
    const unschedulable = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" };
    const status = map({ phase: "Pending", conditions: [unschedulable] });
    assert.equal(condition(status, OFFLOADED_CONDITION)?.reason, "Unschedulable");
  });

  it("ends the pod where nothing can change it", () => {
    const status = refusedStatus({ pod: podOf(), hostIPs: [], now }, "OffloadingRefused", "it asks for hostNetwork");
    assert.deepEqual([status.phase, status.reason], ["Failed", "OffloadingRefused"]);
  });
});

describe("whatever a provider says", () => {
  const anything = fc.anything({ maxDepth: 4, withBigInt: false });
  const text = fc.oneof(fc.string(), fc.string({ minLength: 5_000, maxLength: 5_001 }), fc.constant("\u001b[2J\ud800"));
  const scalar = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null), anything);
  const time = fc.oneof(
    scalar,
    fc.integer({ min: -7_200, max: 600 }).map((seconds) => new Date(now + seconds * 1_000).toISOString()),
  );
  const state = fc.record(
    {
      running: fc.oneof(anything, fc.record({ startedAt: time }, { requiredKeys: [] })),
      waiting: fc.oneof(anything, fc.record({ reason: scalar, message: scalar })),
      terminated: fc.oneof(
        anything,
        fc.record(
          { exitCode: scalar, reason: scalar, message: scalar, startedAt: time, finishedAt: time, containerID: scalar },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: [] },
  );
  const container = fc.record(
    {
      name: fc.oneof(fc.constantFrom("main", "init", "spy"), scalar),
      restartCount: scalar,
      ready: scalar,
      image: scalar,
      imageID: scalar,
      containerID: scalar,
      state: fc.oneof(state, anything),
      lastState: fc.oneof(state, anything),
      resources: anything,
      allocatedResources: anything,
    },
    { requiredKeys: [] },
  );
  const containers = fc.oneof(anything, fc.array(fc.oneof(container, anything), { maxLength: 6 }));
  const conditions = fc.oneof(
    anything,
    fc.array(
      fc.record({
        type: fc.constantFrom("Ready", "Admitted", "Running", "DisruptionTarget"),
        status: scalar,
        reason: scalar,
        message: scalar,
      }),
    ),
  );
  const status = fc.oneof(
    anything,
    fc.record(
      {
        phase: fc.oneof(fc.constantFrom("Pending", "Running", "Succeeded", "Failed", "Unknown"), scalar),
        startTime: time,
        podIP: scalar,
        podIPs: fc.oneof(anything, fc.array(fc.record({ ip: fc.oneof(scalar, fc.ipV4(), fc.ipV6()) }))),
        hostIP: scalar,
        reason: scalar,
        message: scalar,
        conditions,
        containerStatuses: containers,
        initContainerStatuses: containers,
        ephemeralContainerStatuses: containers,
        recreations: scalar,
      },
      { requiredKeys: [] },
    ),
  );
  const spec = { initContainers: [{ name: "init", image: "i" }], containers: [{ name: "main", image: "busybox:1" }] };

  it("gives a status of the right form and of bounded size, for containers that there are", () => {
    fc.assert(
      fc.property(status, status, (guest, shadow) => {
        const mapped = map(guest, { shadow: shadowWith(shadow), pod: podOf({ phase: "Pending" }, spec) });
        if (mapped === undefined) return;
        assert.ok(JSON.stringify(mapped).length < 100_000);
        assert.ok(["Pending", "Running", "Succeeded", "Failed"].includes(mapped.phase ?? ""));
        for (const each of mapped.containerStatuses ?? []) {
          assert.equal(each.name, "main");
          assert.ok(Number.isInteger(each.restartCount) && each.restartCount >= 0);
          assert.equal(typeof each.ready, "boolean");
          assert.ok(Object.keys(each.state ?? {}).length <= 1);
        }
        for (const each of mapped.initContainerStatuses ?? []) assert.equal(each.name, "init");
        for (const { ip = "" } of mapped.podIPs ?? []) assert.match(ip, /^[0-9a-f.:]+$/i);
        assert.ok((mapped.podIPs ?? []).length <= 2);
        assert.equal(mapped.hostIP, "10.9.9.9");
        for (const said of timesOf(mapped)) assert.ok(Date.parse(said) >= created && Date.parse(said) <= now, said);
        for (const { state: is, lastState: was } of mapped.containerStatuses ?? [])
          for (const { startedAt = "", finishedAt = startedAt } of [is?.terminated ?? {}, was?.terminated ?? {}])
            assert.ok(startedAt <= finishedAt || finishedAt === "", `${startedAt} to ${finishedAt}`);
        const own = ["Ready", "ContainersReady", "Initialized", "PodReadyToStartContainers", "PodScheduled"];
        const types = (mapped.conditions ?? []).map(({ type }) => type);
        for (const type of types) assert.ok([...own, OFFLOADED_CONDITION, "DisruptionTarget"].includes(type), type);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not come through
        assert.doesNotMatch(JSON.stringify(mapped), /\\u00(0[0-8bcef]|1)|\u001b/);
      }),
      { numRuns: 300 },
    );
  });

  it("comes to rest: what was mapped once and is mapped again is the same", () => {
    fc.assert(
      fc.property(status, status, (guest, shadow) => {
        const first = map(guest, { shadow: shadowWith(shadow) });
        if (first === undefined || first.phase === "Succeeded" || first.phase === "Failed") return;
        const second = map(guest, { shadow: shadowWith(shadow), pod: podOf(first), now: now + 300_000 });
        if (second === undefined) return;
        const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
        const sorted = (value: PodStatus) => ({
          ...value,
          // The scheduler's: it is written once, where it is missing.
          conditions: value.conditions
            ?.filter(({ type }) => type !== "PodScheduled")
            .toSorted((a, b) => (a.type < b.type ? -1 : 1)),
        });
        assert.deepEqual(plain(sorted(second)), plain(sorted(first)));
      }),
      { numRuns: 200 },
    );
  });
});
