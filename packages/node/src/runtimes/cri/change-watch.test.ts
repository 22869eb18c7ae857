import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff, type Clock, silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ChangeWatch } from "./change-watch.ts";
import { CriClient } from "./cri-client.ts";
import { PodLister } from "./pod-lister.ts";
import { schema } from "./proto/message.ts";
import { ContainerState, RuntimeService } from "./proto/messages.ts";
import { RuntimeEvents } from "./runtime-events.ts";
import { FakeRuntime } from "./testing/fake-runtime.ts";

/** A runtime with one pod; `end` ends its container. */
async function onePod(clock: Clock) {
  const runtime = await FakeRuntime.start();
  let state: ContainerState = ContainerState.CONTAINER_RUNNING;
  runtime.answer(RuntimeService.listPodSandbox, () => ({ items: [{ id: "s", metadata: { uid: "u" } }] }));
  runtime.answer(RuntimeService.listContainers, () => ({ containers: [{ id: "c", podSandboxId: "s", state }] }));
  // Calls have deadlines of their own, which are not to fire with the test's clock.
  const client = new CriClient({ socket: runtime.socket, clock: systemClock });
  const backoff = new Backoff({ initial: 1000, max: 1000, random: () => 0 });
  const events = new RuntimeEvents({ client, clock, log: silentLogger, backoff });
  const watch = new ChangeWatch({ lister: new PodLister(client), events, clock });
  const end = () => {
    state = ContainerState.CONTAINER_EXITED;
  };
  const looks = () => runtime.count(RuntimeService.listContainers);
  return { runtime, client, watch, events, end, looks };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}

/** Collects what is told, until it is stopped. */
function follow(watch: ChangeWatch) {
  const stop = new AbortController();
  const told: string[] = [];
  const done = (async () => {
    for await (const uid of watch.changes(stop.signal)) told.push(uid);
  })();
  return {
    told,
    async end() {
      stop.abort();
      await done;
    },
  };
}

test("without events it is looked every second", async () => {
  const clock = new ManualClock();
  const { runtime, client, watch, events, end, looks } = await onePod(clock);
  await using _ = runtime;
  const following = follow(watch);
  await until(() => following.told.length === 1 && !events.listening && clock.pending > 0);
  end();
  const before = looks();
  await clock.advance(1000);
  await until(() => following.told.length === 2);
  assert.ok(looks() <= before + 2);
  assert.deepEqual(following.told, ["u", "u"]);
  await following.end();
  client.close();
});

/** Less than the time after which it is looked without an event, too. */
const AT_ONCE_MS = 4_000;

test("an event of CRI is followed at once", async () => {
  const clock = new ManualClock();
  const { runtime, client, watch, end } = await onePod(clock);
  await using _ = runtime;
  const send = runtime.streams(RuntimeService.getContainerEvents);
  const following = follow(watch);
  await until(() => following.told.length === 1 && runtime.count(RuntimeService.getContainerEvents) === 1);
  end();
  const began = clock.now();
  await until(async () => {
    send({ containerId: "c" });
    if (clock.now() < began + AT_ONCE_MS) await clock.advance(10);
    return following.told.length === 2;
  });
  await following.end();
  client.close();
});

test("containerd's own events are followed where CRI has none, and looked at until CRI knows", async () => {
  const clock = new ManualClock();
  const { runtime, client, watch, end, looks } = await onePod(clock);
  await using _ = runtime;
  const send = runtime.streams(subscribe);
  const following = follow(watch);
  await until(() => following.told.length === 1 && runtime.count(subscribe) === 1);
  const before = looks();
  const began = clock.now();
  const exit = { topic: "/tasks/exit", event: { value: Buffer.from([0x0a, 1, 0x63, 0x12, 1, 0x63]) } };
  await until(async () => {
    send(exit);
    if (clock.now() < began + AT_ONCE_MS / 2) await clock.advance(10);
    return looks() >= before + 2;
  });
  end();
  await until(async () => {
    if (clock.now() < began + AT_ONCE_MS) await clock.advance(10);
    return following.told.length === 2;
  });
  await following.end();
  client.close();
});

const subscribe = {
  path: "/containerd.services.events.v1.Events/Subscribe",
  input: schema<Record<never, never>>(() => []),
  output: schema<{ topic: string; event?: { value: Uint8Array } }>(() => [
    ["topic", 3, "string"],
    ["event", 4, schema<{ value: Uint8Array }>(() => [["value", 2, "bytes"]])],
  ]),
};
