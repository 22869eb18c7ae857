import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { ApiError, KubeClient } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { type Microkube, startMicrokube } from "../microkube.ts";
import { builtInSchemas, Decoder, type FieldValidation, GoTypes, type Schema } from "../schema/index.ts";
import { StatusError } from "../status-error.ts";
import { patches, readPatch } from "./index.ts";

// The same patches on a real API server and here, on the object that it has: the results are the same, less what the
// server fills in, and so are the refusals.

const strategic = "application/strategic-merge-patch+json";
const merge = "application/merge-patch+json";
const json = "application/json-patch+json";
const kinds = { [strategic]: "strategic", [merge]: "merge", [json]: "json" } as const;
const gvk = { group: "apps", version: "v1", kind: "Deployment" };
const path = "/apis/apps/v1/namespaces/default/deployments/patched";

const container = (name: string, index: number) => ({
  name,
  image: `${name}:1`,
  env: [
    { name: "A", value: "1" },
    { name: "B", value: "2" },
  ],
  ports: [{ containerPort: 80 + index }],
});
const deployment = {
  metadata: { name: "patched", labels: { a: "1", b: "2" }, finalizers: ["x.y/one", "x.y/two", "x.y/three"] },
  spec: {
    selector: { matchLabels: { app: "a" } },
    template: {
      metadata: { labels: { app: "a" } },
      spec: {
        containers: ["one", "two", "three"].map(container),
        tolerations: [{ key: "t", operator: "Exists" }],
        volumes: [{ name: "v", emptyDir: { medium: "Memory" } }],
      },
    },
  },
};
const podSpec = (spec: unknown) => JSON.stringify({ spec: { template: { spec } } });

const texts: readonly (readonly [keyof typeof kinds, string])[] = [
  // Strategic merges.
  [strategic, podSpec({ containers: [{ name: "two", image: "x:2" }] })],
  [strategic, podSpec({ containers: [{ name: "new", image: "x:2" }] })],
  [
    strategic,
    podSpec({
      containers: [
        { name: "new", image: "x:2" },
        { name: "three", image: "x:3" },
      ],
    }),
  ],
  [
    strategic,
    podSpec({
      containers: [
        { name: "three", image: "x:2" },
        { name: "one", image: "x:3" },
      ],
    }),
  ],
  [strategic, podSpec({ containers: [{ name: "two", $patch: "delete" }] })],
  [strategic, podSpec({ containers: [{ $patch: "delete" }] })],
  [strategic, podSpec({ containers: [{ $patch: "replace" }, { name: "only", image: "x:1" }] })],
  [strategic, podSpec({ containers: [{ name: "two", $patch: "replace", image: "y:1" }] })],
  [strategic, podSpec({ containers: [{ name: "two", $patch: "odd" }] })],
  [strategic, podSpec({ containers: [{ image: "x:2" }] })],
  [
    strategic,
    podSpec({
      containers: [
        {
          name: "two",
          env: [
            { name: "B", value: "9" },
            { name: "C", value: "3" },
          ],
        },
      ],
    }),
  ],
  [strategic, podSpec({ containers: [{ name: "two", env: [{ name: "A", $patch: "delete" }], ports: null }] })],
  [
    strategic,
    podSpec({ containers: [{ name: "two", ports: [{ containerPort: 90, name: "web" }, { containerPort: 81 }] }] }),
  ],
  [strategic, podSpec({ "$setElementOrder/containers": [{ name: "three" }, { name: "one" }, { name: "two" }] })],
  [
    strategic,
    podSpec({
      "$setElementOrder/containers": [{ name: "new" }, { name: "one" }, { name: "two" }],
      containers: [{ name: "new", image: "n:1" }],
    }),
  ],
  [
    strategic,
    podSpec({ "$setElementOrder/containers": [{ name: "one" }], containers: [{ name: "new", image: "n:1" }] }),
  ],
  [strategic, podSpec({ tolerations: [{ key: "u", operator: "Exists" }] })],
  [strategic, podSpec({ volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/x" } }] })],
  [strategic, podSpec({ volumes: [{ name: "v", hostPath: { path: "/x" } }] })],
  [strategic, podSpec({ volumes: [{ name: "w", emptyDir: {} }], nodeSelector: { a: "b", c: null } })],
  [strategic, podSpec({ containers: null })],
  [strategic, JSON.stringify({ metadata: { finalizers: ["x.y/four"] } })],
  [strategic, JSON.stringify({ metadata: { "$deleteFromPrimitiveList/finalizers": ["x.y/two"] } })],
  [
    strategic,
    JSON.stringify({
      metadata: {
        "$deleteFromPrimitiveList/finalizers": ["x.y/two"],
        "$setElementOrder/finalizers": ["x.y/three", "x.y/four", "x.y/one"],
        finalizers: ["x.y/four"],
      },
    }),
  ],
  [strategic, JSON.stringify({ metadata: { labels: { a: null, c: "3" }, annotations: { x: null, y: "1" } } })],
  [strategic, JSON.stringify({ metadata: { labels: { $patch: "replace", c: "3" } } })],
  [strategic, JSON.stringify({ metadata: { labels: { $patch: "delete" } } })],
  [strategic, JSON.stringify({ spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } })],
  [strategic, JSON.stringify({ spec: { strategy: { type: "Recreate", rollingUpdate: null } } })],
  [strategic, JSON.stringify({ spec: { replicas: null, foo: 1 }, bar: { a: 1 } })],
  [strategic, JSON.stringify({ kind: "Pod", apiVersion: "v9" })],
  [strategic, "[]"],
  [strategic, "{"],
  [strategic, "null"],
  [strategic, ""],
  [strategic, JSON.stringify({ spec: { replicas: "x" } })],
  [strategic, JSON.stringify({ spec: { replicas: 1.5 } })],
  [strategic, JSON.stringify({ spec: { template: 5 } })],
  [strategic, JSON.stringify({ metadata: { labels: { a: 5 } } })],
  [strategic, JSON.stringify({ metadata: { labels: "x" } })],
  [strategic, podSpec({ containers: "x" })],
  [strategic, podSpec({ tolerations: [5], hostNetwork: "x" })],
  [strategic, podSpec({ hostNetwork: "x" })],
  // Merges.
  [merge, JSON.stringify({ metadata: { labels: { a: null, c: "3" } }, spec: { replicas: 4 } })],
  [merge, podSpec({ containers: [{ name: "solo", image: "s:1" }], volumes: null })],
  [merge, JSON.stringify({ spec: { replicas: "x" } })],
  [merge, JSON.stringify({ spec: { template: { spec: { containers: [{ name: 5 }] } } } })],
  [merge, JSON.stringify({ spec: { foo: 1 }, bar: 2 })],
  [merge, '{"spec":{"replicas":1,"replicas":2,"foo":1}}'],
  [merge, JSON.stringify({ kind: "Pod" })],
  [merge, JSON.stringify({ apiVersion: "apps/v9" })],
  [merge, "[]"],
  [merge, "5"],
  [merge, "{"],
  [merge, "null"],
  // JSON patches.
  [json, JSON.stringify([{ op: "add", path: "/spec/template/spec/containers/1", value: { name: "n", image: "n:1" } }])],
  [json, JSON.stringify([{ op: "add", path: "/spec/template/spec/containers/-", value: { name: "n", image: "n:1" } }])],
  [json, JSON.stringify([{ op: "add", path: "/spec/template/spec/containers/9", value: { name: "n" } }])],
  [json, JSON.stringify([{ op: "remove", path: "/spec/template/spec/containers/0" }])],
  [json, JSON.stringify([{ op: "remove", path: "/spec/template/spec/containers/-1" }])],
  [json, JSON.stringify([{ op: "remove", path: "/spec/template/spec/containers/3" }])],
  [json, JSON.stringify([{ op: "replace", path: "/spec/template/spec/containers/0/image", value: "r:1" }])],
  [json, JSON.stringify([{ op: "replace", path: "/spec/template/spec/containers/5/image", value: "r:1" }])],
  [json, JSON.stringify([{ op: "move", from: "/metadata/labels/a", path: "/metadata/labels/z" }])],
  [json, JSON.stringify([{ op: "copy", from: "/metadata/labels/a", path: "/metadata/labels/z" }])],
  [json, JSON.stringify([{ op: "copy", from: "/metadata/labels/none", path: "/metadata/labels/z" }])],
  [json, JSON.stringify([{ op: "move", from: "/metadata/labels/none", path: "/metadata/labels/z" }])],
  [json, JSON.stringify([{ op: "test", path: "/metadata/labels/a", value: "1" }])],
  [json, JSON.stringify([{ op: "test", path: "/metadata/labels/a", value: "2" }])],
  [json, JSON.stringify([{ op: "test", path: "/metadata/labels/none", value: null }])],
  [json, JSON.stringify([{ op: "test", path: "/metadata/labels/none" }])],
  [json, JSON.stringify([{ op: "test", path: "/metadata/finalizers", value: ["x.y/one", "x.y/two", "x.y/three"] }])],
  [
    json,
    JSON.stringify([
      { op: "add", path: "/metadata/annotations", value: { "a~b/c": "d" } },
      { op: "replace", path: "/metadata/annotations/a~0b~1c", value: "e" },
    ]),
  ],
  [json, JSON.stringify([{ op: "add", path: "/metadata/annotations/x", value: "d" }])],
  [json, JSON.stringify([{ op: "add", path: "/spec/replicas", value: "d" }])],
  [json, JSON.stringify([{ op: "add", path: "/foo", value: "d", odd: 1 }])],
  [json, JSON.stringify([{ op: "odd", path: "/foo" }])],
  [json, JSON.stringify([{ path: "/foo" }])],
  [json, JSON.stringify([{ op: "remove" }])],
  [json, JSON.stringify([{ op: "remove", path: "spec" }])],
  [json, JSON.stringify([{ op: "remove", path: "" }])],
  [json, "{}"],
  [json, "[5]"],
  [json, "null"],
  [json, "["],
];

describe("patches do what they do on a real API server", { skip: kubernetesSkip() }, () => {
  let site: SharedTestSite;
  let client: KubeClient;
  let live: KubeObject;
  let microkube: Microkube;
  let ours: KubeClient;
  const schemas = builtInSchemas();
  const decoder = new Decoder(schemas, new GoTypes());
  const schema = schemas.of(gvk) as Schema;

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config);
    const collection = path.slice(0, path.lastIndexOf("/"));
    const made = await client.raw("POST", collection, { body: deployment });
    live = JSON.parse(made.body.toString());
    microkube = await startMicrokube({ controllers: false, scheduler: false });
    ours = microkube.client();
    await ours.raw("POST", collection, { body: deployment });
  });
  after(async () => {
    // Its finalizers would keep it for those who use the site next.
    await client?.raw("PATCH", path, { headers: { "content-type": merge }, body: { metadata: { finalizers: null } } });
    await client?.raw("DELETE", path);
    await Promise.all([client?.close(), ours?.close()]);
    await microkube?.close();
  });

  for (const [type, text] of texts) {
    for (const fieldValidation of ["Warn", "Strict"] as const) {
      test(`${kinds[type]} ${fieldValidation} ${text}`, async () => {
        const theirs = await ask(client, type, text, fieldValidation);
        const mine = answer(type, text, fieldValidation);
        if (theirs instanceof ApiError) compareRefusals(mine, theirs);
        else {
          assert.ok(!(mine instanceof StatusError), `refused: ${(mine as StatusError).message}`);
          assert.deepEqual(mine.warnings, theirs.warnings);
          assertPart(
            { ...mine.object, metadata: kept(mine.object) },
            { ...theirs.object, metadata: kept(theirs.object) },
            "",
          );
        }
      });

      test(`microkube: ${kinds[type]} ${fieldValidation} ${text}`, async () => {
        const theirs = await ask(client, type, text, fieldValidation);
        const mine = await ask(ours, type, text, fieldValidation);
        assert.deepEqual(comparable(mine), comparable(theirs));
      });
    }
  }

  async function ask(by: KubeClient, type: string, text: string, fieldValidation: string) {
    const query = { dryRun: "All", fieldValidation };
    try {
      const { body, headers } = await by.raw("PATCH", path, {
        query,
        headers: { "content-type": type },
        body: text,
      });
      const all = [headers.warning ?? []].flat().join(", ");
      const warnings = [...all.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, one]) => JSON.parse(`"${one}"`));
      return { object: JSON.parse(body.toString()) as KubeObject, warnings };
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  function answer(type: keyof typeof kinds, text: string, fieldValidation: FieldValidation) {
    try {
      const read = readPatch(Buffer.from(text), kinds[type]);
      const patched = patches[kinds[type]](live, read.patch, schema);
      return decoder.decodePatched(patched, read, { expected: gvk, schema, fieldValidation });
    } catch (error) {
      if (error instanceof StatusError) return error;
      throw error;
    }
  }
});

function comparable(answer: ApiError | { object: KubeObject; warnings: unknown[] }): unknown {
  if (!(answer instanceof ApiError)) return { ...answer, object: { ...answer.object, metadata: kept(answer.object) } };
  const { message = "" } = answer.status ?? {};
  // The object that is shown has its fields in another order, and is another one.
  const shown = message.includes('Invalid value: "{') ? message.slice(message.lastIndexOf('}": ')) : message;
  // The real server repeats causes that it finds in several ways.
  const causes = answer.status?.details?.causes ?? [];
  const code = answer.statusCode === 500 ? 400 : answer.statusCode;
  return {
    code,
    message: shown,
    causes: new Set(causes.map(({ field, reason }) => `${field} ${reason}`)),
  };
}

function kept({ metadata }: KubeObject): unknown {
  const { labels, annotations, finalizers } = metadata;
  return { labels, annotations, finalizers };
}

/** What is checked after the patch is not compared: validation is the kinds' own. */
function compareRefusals(ours: unknown, theirs: ApiError): void {
  const { message = "" } = theirs.status ?? {};
  if (theirs.statusCode === 422 && message.startsWith("Deployment.apps")) return;
  if (message.startsWith("the name of the object")) return;
  assert.ok(ours instanceof StatusError, `not refused: ${message}`);
  const bytes = (text: string) => text.replace(/\\?"resourceVersion\\?":\\?"\d+\\?"/, "");
  if (message.includes('Invalid value: "{')) {
    // The object that is shown has its fields in another order.
    const end = (text: string) => text.slice(text.lastIndexOf('}": '));
    assert.equal(end(ours.message), end(message));
  } else assert.equal(bytes(ours.message), bytes(message));
  assert.equal(ours.code, theirs.statusCode === 500 ? 400 : theirs.statusCode);
}

function assertPart(part: unknown, whole: unknown, where: string): void {
  if (part === undefined || part === null) return;
  if (typeof part !== "object") {
    assert.equal(part, whole, where);
    return;
  }
  assert.equal(Array.isArray(part), Array.isArray(whole), where);
  if (Array.isArray(part)) assert.equal(part.length, (whole as unknown[]).length, where);
  for (const [key, value] of Object.entries(part)) {
    assertPart(value, (whole as Record<string, unknown>)[key], `${where}.${key}`);
  }
}
