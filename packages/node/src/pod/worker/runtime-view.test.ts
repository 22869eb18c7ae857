import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { forgeSandbox } from "../forge/sandbox-forge.ts";
import { FakeRuntime } from "../testing/fake-runtime.ts";
import { newPod } from "../testing/pod-bench.ts";
import { RuntimeView } from "./runtime-view.ts";

const settings = {
  nodeName: "n",
  hostIPs: [],
  stateDirectory: "/s",
  clusterDns: [],
  clusterDomain: "c",
  cgroupRoot: "",
  memoryCapacity: 1,
  allocatable: {},
};

async function withView(
  use: (view: RuntimeView, runtime: FakeRuntime, clock: ManualClock, changed: string[]) => Promise<void>,
): Promise<void> {
  const clock = new ManualClock();
  const runtime = new FakeRuntime(clock);
  const changed: string[] = [];
  const view = new RuntimeView({
    runtime,
    onChange: (uid) => changed.push(uid),
    clock,
    random: seededRandom(1),
    logger: silentLogger,
  });
  const stop = new AbortController();
  const running = view.run(stop.signal);
  await clock.advance(20);
  await use(view, runtime, clock, changed);
  stop.abort();
  await running;
}

const sandbox = (name: string) => forgeSandbox(newPod(name), 0, "", settings);

test("what changes is told once, and only to whom it happened", () =>
  withView(async (view, runtime, clock, changed) => {
    await runtime.runSandbox(sandbox("a"));
    await runtime.runSandbox(sandbox("b"));
    await clock.advance(50);
    assert.deepEqual(changed.sort(), ["uid-a", "uid-b"]);
    changed.length = 0;
    const before = view.get("uid-b");
    await runtime.stopSandbox(view.get("uid-a").sandbox?.id ?? "");
    await clock.advance(50);
    assert.deepEqual(changed, ["uid-a"]);
    assert.equal(view.get("uid-a").sandbox?.state, "notReady");
    assert.equal(view.get("uid-b"), before, "what has not changed is the same object");
  }));

test("a hundred wishes for a fresh list are one list", () =>
  withView(async (view, runtime, clock) => {
    let lists = 0;
    const list = runtime.list.bind(runtime);
    runtime.list = () => {
      lists++;
      return list();
    };
    let answered = 0;
    for (let wish = 0; wish < 100; wish++) void view.refresh().then(() => answered++);
    await clock.advance(100);
    assert.equal(answered, 100);
    assert.ok(lists <= 2, `${lists} lists`);
  }));

test("at rest a runtime is listed now and then, for what it did not tell", () =>
  withView(async (view, runtime, clock, changed) => {
    const silent = { ...sandbox("a") };
    runtime.sandboxes.push({
      id: "s",
      pod: silent.pod,
      attempt: 0,
      state: "ready",
      createdAt: 0,
      addresses: [],
      annotations: {},
      containers: [],
      config: silent,
    });
    await clock.advance(10_000);
    assert.deepEqual(changed, []);
    await clock.advance(25_000);
    assert.deepEqual(changed, ["uid-a"]);
    assert.deepEqual([...view.uids()], ["uid-a"]);
  }));

test("whoever wants a fresh list waits for a runtime that is away", () =>
  withView(async (view, runtime, clock) => {
    runtime.failures.set("list", [new Error("away"), new Error("away"), new Error("away")]);
    let isFresh = false;
    void view.refresh().then(() => {
      isFresh = true;
    });
    await clock.advance(60);
    assert.equal(isFresh, false);
    await clock.advance(5_000);
    assert.equal(isFresh, true);
  }));

test("a runtime that is not there is told of once, not with each try", async () => {
  const clock = new ManualClock();
  const runtime = new FakeRuntime(clock);
  const away = () => new Error("no such socket");
  runtime.failures.set("list", Array.from({ length: 100 }, away));
  runtime.changes = () => {
    throw away();
  };
  const said: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void said.push(message) };
  const view = new RuntimeView({ runtime, onChange: () => {}, clock, random: seededRandom(1), logger });
  const stop = new AbortController();
  const running = view.run(stop.signal);
  await clock.advance(60_000);
  assert.deepEqual(said.toSorted(), ["cannot list what the runtime has", "the runtime no longer tells of changes"]);
  stop.abort();
  await clock.advance(10_000);
  await running;
});
