import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ApiError, KubeClient as Client, type KubeClient } from "@fjord/kube";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { type Microkube, startMicrokube } from "../microkube.ts";

const base = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
};
const definition = (schema: object, more: object = {}) => ({
  ...base,
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
        additionalPrinterColumns: [
          { name: "Size", type: "integer", jsonPath: ".spec.size" },
          { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
        ],
        selectableFields: [{ jsonPath: ".spec.color" }],
        ...more,
      },
    ],
  },
});
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 10 },
        ratio: { type: "number", minimum: 0, exclusiveMinimum: true, multipleOf: 0.5 },
        replicas: { type: "integer", default: 2 },
        color: { type: "string", enum: ["red", "green"] },
        name: { type: "string", minLength: 2, maxLength: 5, pattern: "^[a-z]+$" },
        when: { type: "string", format: "date-time" },
        port: { "x-kubernetes-int-or-string": true },
        tags: { type: "array", items: { type: "string" }, maxItems: 2, "x-kubernetes-list-type": "set" },
        parts: {
          type: "array",
          items: {
            type: "object",
            required: ["id"],
            properties: { id: { type: "string" }, count: { type: "integer", default: 1 } },
          },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["id"],
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        labels: { type: "object", additionalProperties: { type: "string" }, maxProperties: 2 },
        choice: {
          type: "object",
          oneOf: [{ required: ["a"] }, { required: ["b"] }],
          properties: { a: { type: "string" }, b: { type: "string" } },
        },
        maybe: { type: "string", nullable: true },
      },
      "x-kubernetes-validations": [
        { rule: "self.size != 7", message: "seven is not a size" },
        {
          rule: "!has(self.replicas) || self.replicas <= self.size * 10",
          messageExpression: "'too many replicas'",
        },
        { rule: "self.size >= oldSelf.size", message: "may not shrink" },
      ],
    },
    status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

const widgets: Record<string, unknown> = {
  "what is right": {
    size: 3,
    name: "abc",
    port: "http",
    tags: ["a", "b"],
    parts: [{ id: "x" }],
    free: { any: [1] },
    maybe: null,
  },
  "nothing that is required": {},
  "too little": { size: 0 },
  "too much": { size: 11 },
  "a text for a number": { size: "3" },
  "a fraction for an integer": { size: 1.5 },
  "no multiple": { size: 1, ratio: 0.3 },
  "not in the list": { size: 1, color: "blue" },
  "too short": { size: 1, name: "a" },
  "too long": { size: 1, name: "abcdefgh" },
  "no match": { size: 1, name: "A1" },
  "no time": { size: 1, when: "yesterday" },
  "neither integer nor text": { size: 1, port: true },
  "too many elements": { size: 1, tags: ["a", "b", "c"] },
  "an element twice": { size: 1, tags: ["a", "a"] },
  "a key twice": { size: 1, parts: [{ id: "x" }, { id: "x" }] },
  "an element without its key": { size: 1, parts: [{ count: 2 }] },
  "too many entries": { size: 1, labels: { a: "1", b: "2", c: "3" } },
  "an entry of the wrong type": { size: 1, labels: { a: 1 } },
  "both of one of two": { size: 1, choice: { a: "1", b: "2" } },
  "neither of one of two": { size: 1, choice: {} },
  "against a rule": { size: 7 },
  "against a rule that words its message": { size: 1, replicas: 11 },
  "an object for a text": { size: 1, name: {} },
  "a list for an object": { size: 1, free: [] },
  "null where it may not be": { size: 1, name: null, replicas: null },
  "what nobody knows": { size: 1, unknown: { a: 1 }, parts: [{ id: "x", other: 1 }] },
};

const badDefinitions: Record<string, object> = {
  "a name that is not its own": { ...definition(schema), metadata: { name: "others.example.com" } },
  "no schema": definition(schema, { schema: undefined }),
  "a root that is no object": definition({ type: "string" }),
  "a field without a type": definition({ type: "object", properties: { spec: { properties: { a: {} } } } }),
  "a list without items": definition({ type: "object", properties: { spec: { type: "array" } } }),
  "a map list without keys": definition({
    type: "object",
    properties: {
      a: {
        type: "array",
        "x-kubernetes-list-type": "map",
        items: { type: "object", properties: { id: { type: "string" } } },
      },
    },
  }),
};

describe("custom resources beside Kubernetes' own", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let site: TestSite;
  let microkube: Microkube;
  const clients: KubeClient[] = [];

  before(async () => {
    [site, microkube] = await Promise.all([startTestSite(), startMicrokube({ controllers: false, scheduler: false })]);
    clients.push(new Client(site.config), microkube.client());
    for (const { code, body } of await both("POST", CRDS, definition(schema))) {
      assert.equal(code, 201, JSON.stringify(body));
    }
    await Promise.all(clients.map(established));
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await microkube?.close();
    await site?.stop();
  });

  const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";

  async function established(client: KubeClient): Promise<void> {
    for (let i = 0; i < 100; i++) {
      const { body } = await send(client, "GET", `${CRDS}/widgets.example.com`);
      // A real server first writes null there.
      const conditions = (body as { status: { conditions?: { type: string; status: string }[] } }).status.conditions;
      const served = await send(client, "GET", WIDGETS);
      if (served.code === 200 && conditions?.some(({ type, status }) => type === "Established" && status === "True"))
        return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.fail("never established");
  }

  async function send(
    client: KubeClient,
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    try {
      const response = await client.raw(method, path, {
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: { "content-type": "application/json", accept: "application/json", ...headers },
      });
      return {
        code: response.statusCode,
        body: plain(JSON.parse(response.body.toString())),
        warnings: response.headers.warning,
      };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { code: error.statusCode, body: plain(error.status), warnings: undefined };
    }
  }

  /** The same to both; what each says. */
  const both = (
    ...request: [
      method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
      path: string,
      body?: unknown,
      headers?: Record<string, string>,
    ]
  ) => Promise.all(clients.map((client) => send(client, ...request)));

  const same = async (...request: Parameters<typeof both>) => {
    const [theirs, ours] = await both(...request);
    assert.deepEqual(ours, theirs);
    return ours as NonNullable<typeof ours>;
  };

  for (const [title, spec] of Object.entries(widgets)) {
    it(`are judged as there: ${title}`, async () => {
      const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "trial" }, spec };
      await same("POST", `${WIDGETS}?dryRun=All`, widget);
      await same("POST", `${WIDGETS}?dryRun=All&fieldValidation=Strict`, widget);
    });
  }

  for (const [title, object] of Object.entries(badDefinitions)) {
    it(`are not defined as there: ${title}`, async () => {
      const { spec } = object as ReturnType<typeof definition>;
      const versions = spec.versions.map(({ selectableFields: _, ...version }) => version);
      await same("POST", `${CRDS}?dryRun=All`, { ...object, spec: { ...spec, versions } });
    });
  }

  it("live as there: made, changed, scaled, selected, listed, gone", async () => {
    const widget = {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "a" },
      spec: { size: 3, color: "red" },
      status: { replicas: 9 },
    };
    await same("POST", WIDGETS, widget);
    await same("PATCH", `${WIDGETS}/a`, { spec: { size: 2 } }, { "content-type": "application/merge-patch+json" });
    await same("PATCH", `${WIDGETS}/a`, { spec: { size: 4 } }, { "content-type": "application/merge-patch+json" });
    await same(
      "PATCH",
      `${WIDGETS}/a/status`,
      { status: { replicas: 2 }, spec: { size: 9 } },
      { "content-type": "application/merge-patch+json" },
    );
    await same("GET", `${WIDGETS}/a/scale`);
    await same(
      "PATCH",
      `${WIDGETS}/a/scale`,
      { spec: { replicas: 5 } },
      { "content-type": "application/merge-patch+json" },
    );
    await same(
      "PATCH",
      `${WIDGETS}/a?fieldManager=me&force=true`,
      { apiVersion: "example.com/v1", kind: "Widget", spec: { parts: [{ id: "y" }] } },
      { "content-type": "application/apply-patch+yaml" },
    );
    await same("PATCH", `${WIDGETS}/a`, { spec: {} }, { "content-type": "application/strategic-merge-patch+json" });
    const listed = await same("GET", `${WIDGETS}?fieldSelector=spec.color%3Dred`);
    assert.equal((listed.body as { items: unknown[] }).items.length, 1);
    await same("GET", `${WIDGETS}?fieldSelector=spec.size%3D3`);
    await same("GET", WIDGETS, undefined, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
    await same("DELETE", `${WIDGETS}/a`);
    await same("GET", "/apis/example.com/v1");
  });
});

/** Without what is of the moment. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "string") return /^\d+(\.\d+)?m?s$/.test(value) ? "an age" : value;
  if (typeof value !== "object" || value === null) return value;
  // The column of names is described at length, in words of Go's.
  if ("name" in value && "format" in value && value.format === "name") return { ...value, description: "" };
  const moment = [
    "storageVersionHash",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "time",
    "lastTransitionTime",
    "managedFields",
  ];
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !moment.includes(key))
      .map(([key, one]) => [key, plain(one)]),
  );
}
