import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ApiError, type Pod } from "@fjord/kube";
import type { PodStatus } from "../pod-containers.ts";
import { newPod } from "../testing/pod-bench.ts";
import { isReported, statusPatch } from "./status-patch.ts";
import { StatusWriter, type StatusWriterOptions } from "./status-writer.ts";

/** An API that keeps what it is sent, and fails as told. */
class Api {
  readonly writes: unknown[] = [];
  readonly failures: Error[] = [];
  drops: keyof PodStatus | undefined;
  #version = 1;

  readonly client = {
    patch: async (_: unknown, __: unknown, ___: unknown, patch: { status: PodStatus }) => {
      const failure = this.failures.shift();
      if (failure !== undefined) throw failure;
      this.writes.push(patch.status.phase);
      const { metadata } = newPod("web");
      if (this.drops !== undefined) delete patch.status[this.drops];
      return {
        ...newPod("web"),
        metadata: { ...metadata, resourceVersion: `${++this.#version}` },
        status: patch.status,
      };
    },
    delete: async (_: unknown, __: unknown, options: unknown) => {
      const failure = this.failures.shift();
      if (failure !== undefined) throw failure;
      this.writes.push(options);
    },
  } as unknown as StatusWriterOptions["client"];
}

async function withWriter(use: (writer: StatusWriter, api: Api, clock: ManualClock) => Promise<void>): Promise<void> {
  const api = new Api();
  const clock = new ManualClock();
  const writer = new StatusWriter({ client: api.client, clock, random: seededRandom(1), logger: silentLogger });
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  await use(writer, api, clock);
  stop.abort();
  await running;
}

const web = (status?: PodStatus): Pod => {
  const { metadata, ...rest } = newPod("web");
  return { ...rest, metadata: { ...metadata, resourceVersion: "1" }, ...(status && { status }) };
};

test("what the API has already is not written", () =>
  withWriter(async (writer, api, clock) => {
    writer.set(web({ phase: "Running", podIPs: [], conditions: [] }), { phase: "Running" });
    await clock.advance(1);
    assert.deepEqual(api.writes, []);
    assert.ok(writer.isWritten("uid-web"));
  }));

test("while the API is away the newest is kept, and written once it is back", () =>
  withWriter(async (writer, api, clock) => {
    api.failures.push(new Error("away"), new Error("away"));
    writer.set(web(), { phase: "Pending", message: "1" });
    await clock.advance(10);
    writer.set(web(), { phase: "Running" });
    await clock.advance(30_000);
    assert.deepEqual(api.writes, ["Running"]);
  }));

test("a pod that has ended is not brought back to life", () =>
  withWriter(async (writer, api, clock) => {
    writer.set(web(), { phase: "Failed" });
    writer.set(web(), { phase: "Running" });
    await clock.advance(10);
    writer.set(web(), { phase: "Succeeded" });
    await clock.advance(10);
    assert.deepEqual(api.writes, ["Failed"]);
  }));

test("a finished pod is deleted after its last status, and only it", () =>
  withWriter(async (writer, api, clock) => {
    api.failures.push(new Error("away"));
    writer.set(web(), { phase: "Succeeded" });
    writer.finish(web());
    await clock.advance(30_000);
    assert.equal(api.writes[0], "Succeeded");
    const { signal: _, ...options } = api.writes[1] as { signal: unknown };
    assert.deepEqual(options, { gracePeriodSeconds: 0, preconditions: { uid: "uid-web" } });
  }));

test("a finished pod is deleted until it is gone, even where the API denies it", () =>
  withWriter(async (writer, api, clock) => {
    const status = { kind: "Status", reason: "NotFound", code: 404 };
    const denial = new ApiError({ action: "delete", statusCode: 404, status });
    api.failures.push(denial);
    writer.finish(web());
    await clock.advance(30_000);
    assert.equal(api.writes.length, 1);
    api.failures.push(denial, denial, denial);
    writer.finish(web());
    await clock.advance(10);
    writer.forget("uid-web");
    await clock.advance(60_000);
    assert.equal(api.failures.length, 2);
  }));

test("nobody waits for the status of a pod that is gone", () =>
  withWriter(async (writer, api, clock) => {
    const status = { kind: "Status", reason: "NotFound", code: 404 };
    api.failures.push(new ApiError({ action: "patch", statusCode: 404, status }));
    writer.set(web(), { phase: "Running" });
    await clock.advance(60_000);
    assert.deepEqual(api.writes, []);
  }));

test("a status that the API refuses is not sent again, and keeps nobody waiting", () =>
  withWriter(async (writer, api, clock) => {
    const status = { kind: "Status", reason: "Invalid", code: 422 };
    api.failures.push(new ApiError({ action: "patch", statusCode: 422, status }));
    writer.set(web(), { phase: "Running" });
    await clock.advance(60_000);
    writer.set(web(), { phase: "Running" });
    assert.ok(writer.isWritten("uid-web"));
    assert.deepEqual(api.writes, []);
    writer.set(web(), { phase: "Failed" });
    await clock.advance(10);
    assert.deepEqual(api.writes, ["Failed"]);
  }));

test("what others have written over is written again", () =>
  withWriter(async (writer, api, clock) => {
    writer.set(web(), { phase: "Running" });
    await clock.advance(10);
    const changed = { ...web({ phase: "Pending" }), metadata: { ...web().metadata, resourceVersion: "9" } };
    writer.set(changed, { phase: "Running" });
    await clock.advance(10);
    assert.deepEqual(api.writes, ["Running", "Running"]);
  }));

test("what a server drops is not sent again and again", () =>
  withWriter(async (writer, api, clock) => {
    api.drops = "message";
    for (let round = 0; round < 3; round++) {
      writer.set(web(), { phase: "Running", message: "unknown here" });
      await clock.advance(10);
    }
    assert.deepEqual(api.writes, ["Running"]);
  }));

test("a patch replaces addresses, takes away what is gone, and leaves conditions of others alone", () => {
  const status: PodStatus = {
    phase: "Running",
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }],
    conditions: [
      { type: "Ready", status: "True" },
      { type: "example.com/other", status: "True" },
    ],
  };
  const patch = statusPatch("u", status) as { metadata: unknown; status: Record<string, unknown> };
  assert.deepEqual(patch.metadata, { uid: "u" });
  assert.deepEqual(patch.status.podIPs, [{ ip: "10.0.0.1" }, { $patch: "replace" }]);
  assert.equal(patch.status.reason, null);
  assert.deepEqual(patch.status.conditions, [
    { type: "Ready", status: "True", reason: null, message: null },
    { type: "PodResizePending", $patch: "delete" },
    { type: "PodResizeInProgress", $patch: "delete" },
  ]);
});

test("nulls and empty objects of another writer make no difference", () => {
  const reported: PodStatus = {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True", lastProbeTime: null as unknown as string }],
    containerStatuses: [{ name: "web", image: "", imageID: "", ready: true, restartCount: 0, lastState: {} }],
  };
  const { containerStatuses = [], ...rest } = reported;
  const own = { ...rest, conditions: [{ type: "Ready", status: "True" }] };
  const [{ lastState: _, ...web }] = containerStatuses as [NonNullable<PodStatus["containerStatuses"]>[number]];
  assert.equal(isReported(reported, { ...own, containerStatuses: [web] }), true);
  assert.equal(isReported(reported, { ...own, containerStatuses: [{ ...web, restartCount: 1 }] }), false);
  assert.equal(isReported({ ...reported, reason: "Evicted" }, { ...own, containerStatuses: [web] }), false);
});

test("the status of a pod whose name another has by now is nobody's, and no error", async () => {
  const api = new Api();
  const clock = new ManualClock();
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const logger = { ...silentLogger, warn: say, error: say };
  const writer = new StatusWriter({ client: api.client, clock, random: seededRandom(1), logger });
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  const causes = [{ reason: "FieldValueInvalid", field: "metadata.uid", message: "field is immutable" }];
  const status = { kind: "Status", reason: "Invalid", message: "field is immutable", details: { causes } };
  api.failures.push(new ApiError({ action: "patch", statusCode: 422, status }));
  writer.set(web(), { phase: "Running" });
  await clock.advance(20_000);
  assert.deepEqual(said, []);
  assert.deepEqual(api.writes, []);
  assert.ok(writer.isWritten("uid-web"));
  stop.abort();
  await running;
});

test("the latest status is the one that was set or written, whatever a watch that is behind shows", () =>
  withWriter(async (writer, api, clock) => {
    const scheduled = { type: "PodScheduled", status: "True" };
    const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
    const behind = web({ phase: "Pending", conditions: [scheduled] });
    assert.equal(writer.latest(behind)?.phase, "Pending");
    writer.set(behind, { phase: "Running", conditions: [ready] });
    // Conditions of others stay beside those that are about to be written.
    assert.deepEqual(writer.latest(behind), { phase: "Running", conditions: [scheduled, ready] });
    await clock.advance(10);
    assert.deepEqual(api.writes, ["Running"]);
    assert.equal(writer.latest(behind)?.phase, "Running");
    assert.equal(writer.latest(behind)?.conditions?.[0]?.lastTransitionTime, ready.lastTransitionTime);
    const newer = { ...behind, metadata: { ...behind.metadata, resourceVersion: "9" }, status: { phase: "Failed" } };
    assert.equal(writer.latest(newer as Pod)?.phase, "Failed");
  }));
