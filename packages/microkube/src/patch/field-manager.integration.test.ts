import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { ApiError, KubeClient } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { type Microkube, startMicrokube } from "../microkube.ts";
import { builtInSchemas } from "../schema/built-in-schemas.ts";
import { GoTypes } from "../schema/go-types.ts";
import type { Schema } from "../schema/schema.ts";
import { readTyped } from "../schema/typed-value.ts";
import { StatusError } from "../status-error.ts";
import { patches } from "./index.ts";
import type { FieldManager } from "./patch.ts";
import { type Any, type Step, type Story, stories } from "./testing/field-stories.ts";

// The same writes on a real API server and here: what it says of the managers must be what we say, given what it made of
// the object. So nothing is assumed of how managed fields work.

const types = new GoTypes();

describe("managed fields are those of a real API server", { skip: kubernetesSkip() }, () => {
  let site: SharedTestSite;
  let client: KubeClient;
  let microkube: Microkube;
  let ours: KubeClient;
  const schemas = builtInSchemas();

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config, { userAgent: "test" });
    microkube = await startMicrokube({ controllers: false, scheduler: false });
    ours = microkube.client();
  });
  after(async () => {
    await Promise.all([client?.close(), ours?.close()]);
    await microkube?.close();
  });

  for (const story of stories) {
    const answers: Any[] = [];

    test(story.name, async () => {
      const schema = schemas.of(story.kind) as Schema;
      let live: Any;
      for (const [index, step] of stepsOf(story).entries()) {
        const next = await perform(client, story, step, live);
        answers.push(next);
        check(story, schema, step, live, next, `step ${index}`);
        if (!(next instanceof ApiError)) live = next;
      }
    });

    test(`${story.name}: microkube's answers are the same`, async () => {
      let live: Any;
      for (const [index, step] of stepsOf(story).entries()) {
        const next = await perform(ours, story, step, live);
        assert.deepEqual(comparable(next), comparable(answers[index]), `step ${index}`);
        if (!(next instanceof ApiError)) live = next;
      }
    });
  }

  async function perform(by: KubeClient, story: Story, step: Step, live: Any): Promise<Any> {
    const path = step.subresource === undefined ? story.path : `${story.path}/${step.subresource}`;
    const query: Record<string, string> = { fieldManager: step.by ?? "ui" };
    try {
      if (step.create !== undefined) {
        const collection = story.path.slice(0, story.path.lastIndexOf("/"));
        return await send(by, "POST", collection, step.create, "application/json", query);
      }
      if (step.put !== undefined) {
        const object = structuredClone(live);
        step.put(object);
        return await send(by, "PUT", path, object, "application/json", query);
      }
      if (step.patch !== undefined)
        return await send(by, "PATCH", path, step.patch, step.type ?? "application/merge-patch+json", query);
      if (step.force) query.force = "true";
      return await send(by, "PATCH", path, step.apply, "application/apply-patch+yaml", query);
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  async function send(
    by: KubeClient,
    method: "POST" | "PUT" | "PATCH",
    path: string,
    body: unknown,
    type: string,
    query: Record<string, string>,
  ) {
    const headers = { "content-type": type };
    const answer = await by.raw(method, path, { query, headers, body: JSON.stringify(body) });
    return JSON.parse(answer.body.toString());
  }
});

function stepsOf({ object, steps }: Story): readonly Step[] {
  return object === undefined ? steps : [{ create: object, by: "maker" }, ...steps];
}

/** An answer less what differs from server to server, and from second to second. */
function comparable(answer: Any): unknown {
  if (answer instanceof ApiError) return statusOf(answer);
  const object = structuredClone(answer);
  const { metadata, spec } = object;
  for (const name of ["uid", "resourceVersion", "creationTimestamp"]) metadata[name] = typeof metadata[name];
  for (const name of ["clusterIP", "clusterIPs"]) if (spec?.[name] !== undefined) spec[name] = typeof spec[name];
  metadata.managedFields = managersOf(object, undefined);
  return object;
}

function check(story: Story, schema: Schema, step: Step, live: Any, next: Any, where: string): void {
  const { group, version } = story.kind;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const manager: FieldManager = {
    name: step.by ?? "ui",
    apiVersion,
    time: "NOW",
    ...(step.subresource !== undefined && { subresource: step.subresource }),
  };
  const resetFields = story.reset?.[step.subresource ?? ""] ?? [["status"]];
  if (step.apply !== undefined) {
    const config = JSON.parse(JSON.stringify(step.apply)) as KubeObject;
    const request = { live, config, schema, manager, force: step.force ?? false, resetFields };
    if (next instanceof ApiError)
      assert.deepEqual(
        refusalOf(() => patches.apply(request)),
        statusOf(next),
        where,
      );
    else {
      const mine = patches.apply(request) as Any;
      assert.deepEqual(managersOf(mine, live), managersOf(next, live), where);
      if (live !== undefined) assertKeeps(readTyped(mine, schema, types).value, next, where);
    }
    return;
  }
  assert.ok(!(next instanceof ApiError), `${where}: ${next.message}`);
  const quiet = (object: Any) => {
    const copy = structuredClone(object);
    if (copy !== undefined) story.quiet?.(copy);
    return copy;
  };
  const wanted = quiet(next);
  delete wanted.metadata.managedFields;
  if (step.put !== undefined) {
    const sent = structuredClone(live);
    step.put(sent);
    wanted.metadata.managedFields = sent.metadata.managedFields;
  }
  const mine = patches.updateManagedFields(quiet(live), wanted, schema, manager, resetFields);
  assert.deepEqual(managersOf(mine, live), managersOf(next, live), where);
}

/** Times are told apart only by whether they are what they were. */
function managersOf(object: Any, live: Any): unknown {
  const times = new Set((live?.metadata.managedFields ?? []).map(({ time }: Any) => time));
  const found = (object.metadata.managedFields ?? []).map((entry: Any) => ({
    ...entry,
    time: entry.time === undefined ? "none" : entry.time === "NOW" || !times.has(entry.time) ? "now" : "before",
  }));
  return new Map(
    found.map((entry: Any) => [`${entry.manager} ${entry.operation} ${entry.subresource ?? ""}`, withoutClock(entry)]),
  );
}

/** A second is too long to tell now from before in a test. */
function withoutClock({ time, ...entry }: Any): unknown {
  return { ...entry, time: time === "none" ? "none" : "some" };
}

/** What apply makes is what the server makes, but for what it sets itself and fills in. */
function assertKeeps(mine: Any, next: Any, where: string): void {
  const { managedFields: _m, resourceVersion: _r, generation: _g, ...metadata } = mine.metadata;
  assertPart({ ...mine, metadata }, next, where);
}

function assertPart(part: unknown, whole: unknown, where: string): void {
  if (typeof part !== "object" || part === null || Object.keys(part).length === 0) {
    const isNothing = typeof part === "object" && (whole === null || whole === undefined);
    if (!isNothing)
      assert.deepEqual(typeof part === "object" ? {} : part, typeof part === "object" ? {} : whole, where);
    return;
  }
  assert.equal(Array.isArray(part), Array.isArray(whole), where);
  if (Array.isArray(part)) assert.equal(part.length, (whole as unknown[]).length, where);
  for (const [key, value] of Object.entries(part)) assertPart(value, (whole as Any)[key], `${where}.${key}`);
}

function refusalOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (error instanceof StatusError) return plain(error.code, error.message, error.details?.causes);
    throw error;
  }
  return "not refused";
}

function statusOf(error: ApiError): unknown {
  return plain(error.statusCode, error.status?.message, error.status?.details?.causes);
}

/** A server's own fault is a client's mistake here. */
function plain(code: number, message: string | undefined, causes: readonly Any[] = []): unknown {
  const sorted = causes.map((cause) => JSON.stringify(Object.entries(cause).sort())).sort();
  return { code: code === 500 ? 400 : code, message, causes: sorted };
}
