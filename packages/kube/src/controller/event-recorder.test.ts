import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KubeObject, seededRandom, silentLogger, sleep } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { CoreEvent } from "../kinds/core.ts";
import { noMetrics } from "./controller-metrics.ts";
import type { EventNote } from "./event-correlator.ts";
import { EventRecorder, type EventRecorderOptions } from "./event-recorder.ts";
import { refusal, TestApi } from "./test-api.ts";

const pod: KubeObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop", uid: "1", resourceVersion: "7" },
};
const started: EventNote = { type: "Normal", reason: "Started", message: "Started container web" };

function start(options: Partial<EventRecorderOptions> = {}) {
  const clock = new ManualClock();
  const api = new TestApi();
  const stop = new AbortController();
  const abandon = new AbortController();
  const outcomes = { written: 0, dropped: 0 };
  const recorder = new EventRecorder({
    client: api,
    component: "fjord-agent",
    instance: "host-1",
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    metrics: {
      ...noMetrics,
      event: (outcome) => {
        outcomes[outcome]++;
      },
    },
    ...options,
  });
  const run = recorder.run(stop.signal, abandon.signal);
  return { clock, api, stop, abandon, outcomes, recorder, run, events: () => api.all(CoreEvent) };
}

describe("EventRecorder", () => {
  test("never throws, whatever it is given, and goes on", async () => {
    const { recorder, clock, events, outcomes } = start();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const nonsense = [
      [pod, { ...started, message: Object.create(null) }],
      [pod, undefined],
      [undefined, started],
      [{ kind: "Pod" }, started],
      [{ ...pod, kind: circle }, started],
    ];
    for (const [object, note] of nonsense) recorder.event(object as KubeObject, note as EventNote);
    assert.equal(outcomes.dropped, nonsense.length);
    recorder.event(pod, { ...started, message: undefined as unknown as string });
    await clock.advance(0);
    assert.deepEqual(
      events().map(({ message }) => message),
      ["undefined"],
    );
  });

  test("an event about a part of an object says which, and counts apart from those of other parts", async () => {
    const { recorder, clock, events } = start();
    for (const name of ["web", "proxy", "web"])
      recorder.event(pod, { ...started, message: "Started", fieldPath: `spec.containers{${name}}` });
    await clock.advance(0);
    await clock.advance(60_000);
    assert.deepEqual(
      events().map(({ involvedObject, count }) => [involvedObject.fieldPath, count]),
      [
        ["spec.containers{web}", 2],
        ["spec.containers{proxy}", 1],
      ],
    );
  });

  test("writes an event beside its object, as kubectl describe shows it", async () => {
    const { recorder, clock, events } = start();
    recorder.event(pod, { ...started, action: "Starting" });
    await clock.advance(0);
    const [event] = events();
    assert.ok(event);
    const { name, namespace } = event.metadata;
    assert.match(name ?? "", /^web\.[0-9a-f]+$/);
    assert.equal(namespace, "shop");
    assert.deepEqual(
      { ...event, metadata: undefined },
      {
        apiVersion: "v1",
        kind: "Event",
        metadata: undefined,
        involvedObject: {
          apiVersion: "v1",
          kind: "Pod",
          name: "web",
          namespace: "shop",
          uid: "1",
          resourceVersion: "7",
        },
        type: "Normal",
        reason: "Started",
        action: "Starting",
        message: "Started container web",
        source: { component: "fjord-agent", host: "host-1" },
        reportingComponent: "fjord-agent",
        reportingInstance: "host-1",
        count: 1,
        firstTimestamp: "2030-01-01T00:00:00Z",
        lastTimestamp: "2030-01-01T00:00:00Z",
      },
    );
  });

  test("what is cluster-scoped has its events in the default namespace, under a name that servers accept", async () => {
    const { recorder, clock, events } = start();
    const metadata = { name: "system:Node_Admin", uid: "2" };
    recorder.event({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata }, started);
    await clock.advance(0);
    assert.equal(events()[0]?.metadata.namespace, "default");
    assert.match(events()[0]?.metadata.name ?? "", /^system-node-admin\.[0-9a-f]+$/);
  });

  test("the same event again raises the count of the one that is there", async () => {
    const { recorder, clock, api, events } = start();
    for (let turn = 0; turn < 5; turn++) {
      recorder.event({ ...pod, metadata: { ...pod.metadata, resourceVersion: `${turn}` } }, started);
      await clock.advance(10_000);
    }
    assert.equal(events().length, 1);
    assert.equal(events()[0]?.count, 5);
    assert.equal(events()[0]?.lastTimestamp, "2030-01-01T00:00:40Z");
    assert.equal(api.calls.filter((call) => call.startsWith("patch")).length, 4);
  });

  test("repeats while a write is on its way cost one more write, not one each", async () => {
    const { recorder, clock, api, events } = start();
    api.onCall = () => sleep(clock, 100);
    for (let turn = 0; turn < 100; turn++) {
      recorder.event(pod, started);
      await clock.advance(1);
    }
    await clock.advance(1000);
    assert.equal(events()[0]?.count, 100);
    assert.equal(api.calls.length, 2);
  });

  test("an event that the server has forgotten by now is begun anew", async () => {
    const { recorder, clock, api, events } = start();
    recorder.event(pod, started);
    await clock.advance(0);
    api.objects.clear();
    recorder.event(pod, started);
    await clock.advance(0);
    assert.equal(events()[0]?.count, 2);
  });

  test("a create whose answer was lost does not become two events", async () => {
    const { recorder, clock, api, events } = start();
    api.onCall = (_, phase) => {
      if (phase === "answer" && api.calls.length === 1) throw new Error("connection reset");
    };
    recorder.event(pod, started);
    await clock.advance(10_000);
    recorder.event(pod, started);
    await clock.advance(0);
    assert.deepEqual(
      events().map(({ count }) => count),
      [2],
    );
  });

  test("a process that is started anew counts on in the events of the one before", async () => {
    const { recorder, clock, api, events } = start();
    for (let turn = 0; turn < 3; turn++) {
      recorder.event(pod, started);
      await clock.advance(10_000);
    }
    const soon = start({ client: api });
    soon.recorder.event(pod, started);
    await soon.clock.advance(0);
    assert.equal(events()[0]?.count, 4, "within the second in which the first was told");
    const next = start({ client: api });
    await next.clock.advance(60_000);
    for (let turn = 0; turn < 2; turn++) {
      next.recorder.event(pod, started);
      await next.clock.advance(10_000);
    }
    const [event, ...others] = events();
    assert.deepEqual(others, []);
    assert.deepEqual(
      [event?.count, event?.firstTimestamp, event?.lastTimestamp],
      [6, "2030-01-01T00:00:00Z", "2030-01-01T00:01:10Z"],
    );
    const elsewhere = start({ client: api, instance: "host-2" });
    elsewhere.recorder.event(pod, started);
    await elsewhere.clock.advance(0);
    assert.deepEqual(
      events().map(({ count }) => count),
      [6, 1],
      "what another one tells is another event",
    );
  });

  test("what is counted on is not counted twice when an answer is lost", async () => {
    const { recorder, clock, api, events } = start();
    recorder.event(pod, started);
    await clock.advance(0);
    for (const [i, lost] of ["the first patch", "the second patch"].entries()) {
      const next = start({ client: api });
      await next.clock.advance(60_000);
      const number = api.calls.length + 2 + i;
      const count = events()[0]?.count ?? 0;
      api.onCall = (_, phase) => {
        if (phase === "answer" && api.calls.length === number) throw new Error("connection reset");
      };
      next.recorder.event(pod, started);
      await next.clock.advance(10_000);
      assert.equal(events()[0]?.count, count + 1, lost);
      assert.ok(api.calls.length > number, "it was tried again");
    }
  });

  test("an event of somebody else's that has the name is left to them", async () => {
    const first = start();
    first.recorder.event(pod, started);
    await first.clock.advance(0);
    const [ours] = first.events();
    assert.ok(ours);
    const foreign = [
      { ...ours, reason: "Stopped" },
      { ...ours, involvedObject: { ...ours.involvedObject, uid: "2" } },
      { ...ours, count: 2 ** 31 - 1 },
    ];
    for (const event of foreign) {
      const { recorder, clock, api, events } = start();
      api.put(CoreEvent, event);
      await clock.advance(60_000);
      for (let turn = 0; turn < 2; turn++) recorder.event(pod, started);
      await clock.advance(0);
      assert.deepEqual(
        events().map(({ count }) => count),
        [event.count, 2],
      );
    }
  });

  test("many messages of one kind about one object become one", async () => {
    const { recorder, clock, events } = start({ rate: { burst: 1000, perSecond: 1 } });
    for (let turn = 0; turn < 50; turn++) {
      recorder.event(pod, { type: "Warning", reason: "Failed", message: `attempt ${turn} failed` });
      await clock.advance(10);
    }
    recorder.event(pod, started);
    await clock.advance(10);
    assert.equal(events().length, 12, "ten apart, one for the rest, and the other reason");
    const combined = events().find(({ message }) => message?.startsWith("(combined"));
    assert.equal(combined?.message, "(combined from similar events): attempt 49 failed");
    assert.equal(combined?.count, 40);
    await clock.advance(601_000);
    recorder.event(pod, { type: "Warning", reason: "Failed", message: "once more" });
    await clock.advance(0);
    assert.ok(
      events().some(({ message }) => message === "once more"),
      "apart again after a quiet time",
    );
  });

  test("one noisy object gets its share of writes and takes nothing from others; its count is right in the end", async () => {
    const { recorder, clock, api, events, outcomes } = start();
    for (let turn = 0; turn < 200; turn++) {
      recorder.event(pod, started);
      await clock.advance(1);
    }
    assert.equal(api.calls.length, 25);
    assert.equal(outcomes.dropped, 175);
    recorder.event({ ...pod, metadata: { name: "quiet", namespace: "shop", uid: "3" } }, started);
    await clock.advance(300_000);
    assert.equal(events().length, 2);
    recorder.event(pod, started);
    await clock.advance(0);
    assert.equal(events().find(({ metadata }) => metadata.name?.startsWith("web"))?.count, 201);
  });

  test("never blocks: while the server is away a bounded number waits, the rest is dropped and counted", async () => {
    const { recorder, clock, api, outcomes, events } = start({ buffer: 5, attempts: 100 });
    let away = true;
    api.onCall = () => {
      if (away) throw new Error("connection refused");
    };
    for (let turn = 0; turn < 20; turn++) {
      recorder.event({ ...pod, metadata: { name: `pod-${turn}`, namespace: "shop" } }, started);
      if (turn === 0) await clock.advance(0);
    }
    assert.equal(outcomes.dropped, 14, "one on its way and five waiting");
    away = false;
    await clock.advance(10_000);
    assert.equal(events().length, 6);
  });

  test("a refusal is not tried again; a server that stays away is given up on", async () => {
    const refused = start();
    refused.api.onCall = () => {
      throw refusal(403, "Forbidden");
    };
    refused.recorder.event(pod, started);
    await refused.clock.advance(600_000);
    assert.equal(refused.api.calls.length, 1);
    const away = start({ attempts: 3 });
    away.api.onCall = () => {
      throw refusal(503, "ServiceUnavailable");
    };
    away.recorder.event(pod, started);
    await away.clock.advance(600_000);
    assert.equal(away.api.calls.length, 3);
    assert.equal(away.outcomes.dropped, 1);
  });

  test("writes what waits before it stops", async () => {
    const { recorder, clock, api, stop, run, events } = start();
    api.onCall = () => sleep(clock, 100);
    for (const name of ["a", "b", "c"]) recorder.event({ ...pod, metadata: { name, namespace: "shop" } }, started);
    stop.abort();
    await clock.advance(600);
    await run;
    assert.equal(events().length, 3);
    assert.equal(clock.pending, 0);
  });

  test("does not wait for a dead server beyond its time to flush, nor at all when abandoned", async () => {
    for (const abandoned of [false, true]) {
      const { recorder, clock, api, stop, abandon, run } = start({ flushMs: 2_000, attempts: 100 });
      api.onCall = () => {
        throw new Error("connection refused");
      };
      recorder.event(pod, started);
      await clock.advance(100);
      stop.abort();
      if (abandoned) abandon.abort();
      await clock.advance(abandoned ? 0 : 2_000);
      await run;
    }
  });

  test("takes out what looks like a secret, and cuts what is too long", async () => {
    const { recorder, clock, events } = start();
    const secrets = [
      "Authorization: Bearer abcdefghijklmnop",
      "token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl",
      "https://admin:hunter22@example.com/",
      "password=hunter22 refused",
      "-----BEGIN PRIVATE KEY-----\nMIIhunter22\n-----END PRIVATE KEY-----",
    ];
    for (const message of secrets) recorder.event(pod, { ...started, message });
    recorder.event(pod, { ...started, message: "😀".repeat(2000) });
    await clock.advance(0);
    const messages = events().map(({ message }) => message ?? "");
    assert.equal(messages.length, 6);
    for (const message of messages.slice(0, 5)) assert.match(message, /\[redacted\]/);
    assert.doesNotMatch(messages.join(), /hunter22|abcdefghijklmnop|eyJ/);
    assert.equal(messages[5]?.length, 1024);
  });
});
