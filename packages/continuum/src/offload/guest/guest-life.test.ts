import assert from "node:assert/strict";
import { test } from "node:test";
import { CONSUMER_LABEL, Contract, ShadowPod } from "@fjord/api";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ApiError, againAfter, Namespace, Pod, type SharedCaches } from "@fjord/kube";
import { quantitiesOf } from "@fjord/node/pod-status";
import type { Home } from "../../home.ts";
import type { LiveContract, LiveContracts } from "../../live-contracts.ts";
import { serverClockOf } from "../../test-server-clock.ts";
import { GuestLife } from "./guest-life.ts";
import { CONTRACT_ANNOTATION, SHADOW_UID_ANNOTATION } from "./guest-pod.ts";
import { GuestState } from "./guest-state.ts";

const consumer = "consumerconsumerconsumer22";
const key = { namespace: "twin", name: "web" };
type Resources = NonNullable<NonNullable<Pod["spec"]>["containers"][number]["resources"]>;
type PodMetadata = Pod["metadata"];

const live = (id: string, cpu: string): LiveContract => ({
  id,
  consumer,
  resources: { cpu },
  enforcement: "None",
  notAfter: Number.POSITIVE_INFINITY,
  takesPods: true,
  drained: false,
});

function guest(resources: Resources, metadata: Partial<PodMetadata> = {}, grace = 30): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...key,
      uid: "p",
      labels: { [CONSUMER_LABEL]: consumer },
      annotations: { [CONTRACT_ANNOTATION]: "c-small", [SHADOW_UID_ANNOTATION]: "s" },
      ...metadata,
    },
    spec: { terminationGracePeriodSeconds: grace, containers: [{ name: "main", image: "x", resources }] },
    status: { phase: "Running" },
  };
}

function shadowOf(contract: string, containers: unknown[]): ShadowPod {
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "ShadowPod",
    metadata: { ...key, uid: "s", generation: 2 },
    spec: { contract, originUid: "o", recreate: "Always", pod: { spec: { containers } } },
  } as unknown as ShadowPod;
}

interface World {
  readonly pod: Pod;
  readonly shadow?: ShadowPod;
  readonly contracts: readonly LiveContract[];
  /** What the API answers a change by. @default it is taken */
  readonly refuses?: boolean;
  /** Happens between a deletion and its answer. */
  readonly onDelete?: () => void;
  /** The shadow pod as the API has it. @default as the watch shows it */
  readonly promised?: () => ShadowPod | undefined;
  /** The guest's contract as the API has it; no watch shows any. @default there is none */
  readonly agreed?: () => Contract | undefined;
  /** By how many milliseconds the API's clock is ahead of the agent's. @default 0 */
  readonly apiAhead?: number;
}

/** One guest that runs, and what is asked of the API for it. */
function setUp(world: World) {
  const { pod, shadow, contracts, refuses = false, onDelete, promised = () => shadow, agreed, apiAhead } = world;
  const clock = new ManualClock();
  const objects = new Map<unknown, unknown>([
    [Pod, pod],
    [ShadowPod, shadow],
    [Namespace, { metadata: { name: "twin", uid: "n", labels: { [CONSUMER_LABEL]: consumer } } }],
    [Contract, undefined],
  ]);
  type Handler = { onAdd?: (object: unknown) => void; onDelete?: (object: unknown, context: object) => void };
  const handlers: Handler[] = [];
  const shadowHandlers: Handler[] = [];
  const open = (kind: unknown) => {
    const all = () => [objects.get(kind)].filter((object) => object !== undefined);
    const addHandler = (handler: Handler) => {
      if (kind === Pod) handlers.push(handler);
      if (kind === ShadowPod) shadowHandlers.push(handler);
      return () => {};
    };
    const cache = { get: () => all()[0], list: all, addHandler, health: { resourceVersion: "9" } };
    return { cache, [Symbol.dispose]: () => {} };
  };
  const patched: unknown[] = [];
  const deleted: (number | undefined)[] = [];
  let evictions = 0;
  const created: unknown[] = [];
  const asked: string[] = [];
  const client = {
    serverClock: serverClockOf(clock, apiAhead),
    get: async (kind: { kind: string }) => {
      asked.push(kind.kind);
      const found = kind === ShadowPod ? promised() : kind === Contract ? agreed?.() : pod;
      if (found === undefined) throw new ApiError({ action: "get", statusCode: 404, text: "there is none" });
      return found;
    },
    create: async (...[, made]: [unknown, Pod]) => {
      created.push(made);
      return { ...made, metadata: { ...made.metadata, uid: "made", resourceVersion: "10" } };
    },
    patch: async (...[, , , patch]: unknown[]) => {
      if (refuses) throw new ApiError({ action: "patch", statusCode: 422, text: "it may not change so" });
      patched.push(patch);
      return pod;
    },
    delete: async (...[, , options]: [unknown, unknown, { gracePeriodSeconds?: number }]) => {
      deleted.push(options.gracePeriodSeconds);
      onDelete?.();
    },
    evict: async () => {
      evictions++;
      throw new ApiError({ action: "evict", statusCode: 429, text: "the disruption budget web needs 1 healthy pod" });
    },
  };
  const book = { resolve: (name: string) => contracts.find(({ id }) => id === name), onChange: () => () => {} };
  const state = new GuestState({
    caches: { open } as unknown as SharedCaches,
    contracts: book as unknown as LiveContracts,
    onRoom: () => {},
  });
  state.follow();
  for (const { onAdd } of handlers) onAdd?.(pod);
  const home = { client, clock, logger: silentLogger } as unknown as Home;
  const life = new GuestLife({ home, contracts: book as unknown as LiveContracts, state, tell: () => {} });
  /** What the watch shows of the guest from now on. */
  const show = (shown: Pod | undefined) => {
    objects.set(Pod, shown);
    if (shown === undefined) for (const { onDelete } of handlers) onDelete?.(pod, { unknownFinalState: false });
  };
  /** The watch shows no shadow pod from now on: it was deleted, or a list does not have it. */
  const hideShadow = ({ unknownFinalState }: { unknownFinalState: boolean }) => {
    const last = objects.get(ShadowPod);
    objects.set(ShadowPod, undefined);
    for (const { onDelete } of shadowHandlers) onDelete?.(last, { unknownFinalState });
  };
  const reconcile = () => life.reconcile(key, { signal: new AbortController().signal } as never);
  const taken = () => quantitiesOf(state.used("c-small"));
  return {
    ...{ reconcile, show, hideShadow, taken, clock, state },
    ...{ patched, created, deleted, asked, evictions: () => evictions },
  };
}

test("a guest that runs is not measured by one contract and counted against another", async () => {
  const main = { name: "main", image: "x", resources: { requests: { cpu: "8" } } };
  const t = setUp({
    pod: guest({ requests: { cpu: "1" } }),
    shadow: shadowOf("c-large", [main]),
    contracts: [live("c-small", "1"), live("c-large", "8")],
  });
  await t.reconcile();
  assert.deepEqual(t.patched, []);
  assert.equal(t.taken().cpu, "1");
  const { verdict } = t.state.memoryOf(shadowOf("c-large", []));
  assert.match(verdict?.message ?? "", /stays under its contract, c-small/);
  // It is looked at again whenever there is room, for as long as it is refused.
  assert.equal(t.state.waiting().length, 1);
  t.state.memoryOf(shadowOf("c-large", [])).verdict = undefined;
  assert.equal(t.state.waiting().length, 0);
});

test("a guest takes what it takes, whatever is asked for and refused", async () => {
  const other = { name: "other", image: "x" };
  const less = { name: "main", image: "x", resources: { requests: { cpu: "1m" } } };
  for (const [containers, refuses] of [
    [[other], false],
    [[other], true],
    [[less], true],
  ] as const) {
    const pod = guest({ requests: { cpu: "1" } });
    const t = setUp({ pod, shadow: shadowOf("c-small", [...containers]), contracts: [live("c-small", "1")], refuses });
    await t.reconcile();
    assert.equal(t.taken().cpu, "1", JSON.stringify({ containers, refuses }));
  }
});

test("no guest outlives its contract by the years that it gives itself to end", async () => {
  const years = 2 ** 31 - 1;
  const ending = { deletionTimestamp: "2095-01-01T00:00:00Z", deletionGracePeriodSeconds: years };
  const shadow = shadowOf("c-small", [{ name: "main", image: "x" }]);
  const deleted = async (world: Omit<World, "contracts">, contracts: LiveContract[] = []) => {
    const t = setUp({ ...world, contracts });
    await t.reconcile();
    return t.deleted;
  };
  assert.deepEqual(await deleted({ pod: guest({}, {}, years), shadow }), [600]);
  assert.deepEqual(await deleted({ pod: guest({}, ending, years), shadow }), [600]);
  assert.deepEqual(await deleted({ pod: guest({}, ending, years) }), [600]);
  // Its own choice of what is sensible holds, and so does any while there is a contract.
  assert.deepEqual(await deleted({ pod: guest({}), shadow }), [undefined]);
  assert.deepEqual(await deleted({ pod: guest({}, { ...ending, deletionGracePeriodSeconds: 30 }) }), []);
  assert.deepEqual(await deleted({ pod: guest({}, ending, years) }, [live("c-small", "1")]), []);
});

test("a guest whose node is away is given up in time, however wrong the agent's clock is", async () => {
  for (const apiAhead of [-480_000, 0, 480_000]) {
    const due = new ManualClock().now() + apiAhead;
    for (const [since, graces] of [
      [2_000, []],
      [8_000, [0]],
    ] as const) {
      const pod = guest({}, { deletionTimestamp: new Date(due - since).toISOString() });
      Object.assign(pod.spec ?? {}, { nodeName: "lost" });
      const t = setUp({ pod, shadow: shadowOf("c-small", []), contracts: [live("c-small", "1")], apiAhead });
      await t.reconcile();
      assert.deepEqual(t.deleted, graces, `${apiAhead}, ${since} ms`);
    }
  }
});

test("a provider that drains a contract ends in half a minute what a budget keeps, and a consumer that does keeps its budgets", async () => {
  const shadow = shadowOf("c-small", []);
  const drained = { ...live("c-small", "1"), takesPods: false, drained: true };
  const own = setUp({ pod: guest({}), shadow, contracts: [{ ...drained, cleared: true }] });
  await own.reconcile();
  assert.deepEqual(own.deleted, []);
  await own.clock.advance(30_000);
  await own.reconcile();
  assert.deepEqual([own.deleted, own.evictions()], [[undefined], 0]);
  const theirs = setUp({ pod: guest({}), shadow, contracts: [drained] });
  await theirs.reconcile();
  await theirs.clock.advance(30_000);
  await theirs.reconcile();
  assert.deepEqual([theirs.deleted, theirs.evictions()], [[], 1]);
});

test("a guest's deletion is asked for once, until it is shown or was not for five seconds", async () => {
  const t = setUp({ pod: guest({}), contracts: [live("c-small", "1")] });
  await t.reconcile();
  const again = await t.reconcile();
  assert.deepEqual(t.deleted, [undefined]);
  assert.deepEqual(again, againAfter(5_000));
  await t.clock.advance(5_000);
  await t.reconcile();
  assert.equal(t.deleted.length, 2);
  // Another of the name is another's deletion.
  t.show(guest({}, { uid: "q" }));
  await t.reconcile();
  assert.equal(t.deleted.length, 3);
});

test("nothing is kept of a guest that is gone, whether the watch or the answer comes first", async () => {
  const t = setUp({ pod: guest({}), contracts: [live("c-small", "1")] });
  await t.reconcile();
  assert.equal(t.state.deleted.size, 1);
  t.show(undefined);
  assert.equal(t.state.deleted.size, 0);
  const quick = setUp({ pod: guest({}), contracts: [live("c-small", "1")], onDelete: () => quick.show(undefined) });
  await quick.reconcile();
  assert.deepEqual([quick.deleted.length, quick.state.deleted.size], [1, 0]);
});

test("a guest that its provider deletes has not ended, however it goes; one that may end by itself has where it says so", async () => {
  const ending = { deletionTimestamp: "2030-01-01T00:00:00Z" };
  const endOf = async (phase: "Failed" | "Succeeded", restartPolicy: string, recreate = "Always") => {
    const shadow = shadowOf("c-small", []);
    const pod = guest({}, ending);
    Object.assign(pod, { spec: { ...pod.spec, restartPolicy }, status: { phase } });
    Object.assign(shadow.spec, { recreate });
    const t = setUp({ pod, shadow, contracts: [live("c-small", "1")] });
    await t.reconcile();
    return t.state.memoryOf(shadow).ended;
  };
  assert.equal(await endOf("Failed", "Always"), undefined);
  assert.equal(await endOf("Succeeded", "Always"), undefined);
  assert.equal(await endOf("Failed", "OnFailure"), undefined);
  assert.equal(await endOf("Succeeded", "OnFailure"), "Succeeded");
  assert.equal(await endOf("Failed", "Never", "Never"), "Failed");
});

test("a guest that is gone is made again for the shadow pod that the API has, and not for one that a watch still shows", async () => {
  const shadow = shadowOf("c-small", [{ name: "main", image: "x" }]);
  let promised: ShadowPod | undefined;
  const t = setUp({ pod: guest({}), shadow, contracts: [live("c-small", "1")], promised: () => promised });
  await t.reconcile();
  // The API was put back to before both, and the watch of guests is the first to show it.
  t.show(undefined);
  for (const other of [undefined, { ...shadow, metadata: { ...shadow.metadata, uid: "later" } }]) {
    promised = other;
    assert.deepEqual([await t.reconcile(), t.created.length], [againAfter(1_000), 0]);
  }
  promised = shadow;
  await t.reconcile();
  assert.equal(t.created.length, 1);
});

const madeLater = (shadow: ShadowPod, status?: object): ShadowPod =>
  ({ ...shadow, metadata: { ...shadow.metadata, uid: "later" }, status }) as ShadowPod;

test("a guest ends once its shadow pod is gone by the API's word, not where a watch does not show it", async () => {
  const shadow = shadowOf("c-small", []);
  let promised: ShadowPod | undefined = shadow;
  const t = setUp({ pod: guest({}), contracts: [live("c-small", "1")], promised: () => promised });
  assert.deepEqual([await t.reconcile(), t.deleted], [againAfter(1_000), []]);
  promised = madeLater(shadow);
  await t.reconcile();
  await t.reconcile();
  assert.deepEqual([t.deleted, t.asked], [[undefined], ["ShadowPod", "ShadowPod"]]);
});

test("a guest that no watch shows yet is not ended either while the API has its shadow pod", async () => {
  const shadow = shadowOf("c-small", [{ name: "main", image: "x" }]);
  let promised: ShadowPod | undefined = shadow;
  const t = setUp({ pod: guest({}), shadow, contracts: [live("c-small", "1")], promised: () => promised });
  t.show(undefined);
  await t.reconcile();
  assert.equal(t.created.length, 1);
  t.hideShadow({ unknownFinalState: true });
  assert.deepEqual([await t.reconcile(), t.deleted], [againAfter(1_000), []]);
  promised = undefined;
  await t.reconcile();
  assert.deepEqual(t.deleted, [undefined]);
});

test("a guest whose shadow pod was seen to be deleted ends without a question, and nothing is kept of that", async () => {
  const shadow = shadowOf("c-small", [{ name: "main", image: "x" }]);
  const t = setUp({ pod: guest({}), shadow, contracts: [live("c-small", "1")] });
  t.hideShadow({ unknownFinalState: false });
  await t.reconcile();
  assert.deepEqual([t.deleted, t.asked], [[undefined], []]);
  t.show(undefined);
  await t.reconcile();
  assert.equal(t.state.departed.size, 0);
  const ending = { ...shadow, metadata: { ...shadow.metadata, deletionTimestamp: "2030-01-01T00:00:00Z" } };
  const kept = setUp({ pod: guest({}), shadow: ending, contracts: [live("c-small", "1")] });
  await kept.reconcile();
  assert.deepEqual([kept.deleted, kept.asked], [[undefined], []]);
  const seen = setUp({ pod: guest({}), shadow, contracts: [live("c-small", "1")] });
  seen.state.shadows.see({ ...key, verb: "delete", body: { kind: "Status", details: { uid: "s" } } });
  await seen.reconcile();
  assert.deepEqual([seen.deleted, seen.asked], [[undefined], []]);
});

test("the guest of a later shadow pod does not end for an earlier one that a watch still shows", async () => {
  const shadow = shadowOf("c-small", []);
  const annotations = { [CONTRACT_ANNOTATION]: "c-small", [SHADOW_UID_ANNOTATION]: "later" };
  let promised: ShadowPod | undefined = madeLater(shadow);
  const pod = guest({}, { annotations });
  const t = setUp({ pod, shadow, contracts: [live("c-small", "1")], promised: () => promised });
  assert.deepEqual([await t.reconcile(), t.deleted], [againAfter(1_000), []]);
  promised = shadow;
  await t.reconcile();
  assert.deepEqual(t.deleted, [undefined]);
});

test("a guest's contract is over by the API's word, not where a watch does not show it", async () => {
  const years = 2 ** 31 - 1;
  const overstaying = { deletionTimestamp: "2095-01-01T00:00:00Z", deletionGracePeriodSeconds: years };
  const ended = { status: { conditions: [{ type: "Ended", status: "True" }] } } as Contract;
  for (const [pod, grace] of [
    [guest({}), undefined],
    [guest({}, overstaying, years), 600],
  ] as const) {
    for (const over of [ended, undefined]) {
      let agreed: Contract | undefined = {} as Contract;
      const t = setUp({ pod, shadow: shadowOf("c-small", []), contracts: [], agreed: () => agreed });
      assert.deepEqual([await t.reconcile(), t.deleted], [againAfter(5_000), []]);
      agreed = over;
      await t.reconcile();
      assert.deepEqual(t.deleted, [grace]);
    }
  }
});

test("a guest that another process may have made before is made where the API knows of none, and a new one without a question", async () => {
  const shadow = shadowOf("c-small", [{ name: "main", image: "x" }]);
  const ledSince = new ManualClock().now();
  const madeAfter = (ms: number) => {
    const creationTimestamp = new Date(ledSince + ms).toISOString();
    return { ...shadow, metadata: { ...shadow.metadata, creationTimestamp } };
  };
  let promised: ShadowPod | undefined;
  const at = (shown: ShadowPod) => {
    const t = setUp({ pod: guest({}), shadow: shown, contracts: [live("c-small", "1")], promised: () => promised });
    t.state.ledSince = ledSince;
    t.show(undefined);
    return t;
  };
  const inherited = at(madeAfter(-60_000));
  for (const now of [
    undefined,
    madeLater(shadow),
    { ...shadow, status: { podUid: "p" } },
    { ...shadow, status: { phase: "Failed" } },
  ] as (ShadowPod | undefined)[]) {
    promised = now;
    assert.deepEqual([await inherited.reconcile(), inherited.created.length], [againAfter(1_000), 0]);
    assert.equal(inherited.taken().cpu, undefined);
  }
  promised = shadow;
  await inherited.reconcile();
  assert.equal(inherited.created.length, 1);
  const fresh = at(madeAfter(60_000));
  await fresh.reconcile();
  assert.deepEqual([fresh.created.length, fresh.asked], [1, []]);
});
