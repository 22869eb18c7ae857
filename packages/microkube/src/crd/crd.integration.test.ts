import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { ApiError, KubeClient as Client, type KubeClient } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { type Microkube, startMicrokube } from "../microkube.ts";
import { failingExpressions, formatExpressions, trueExpressions } from "./test-library.ts";
import { selectableDefinitions } from "./test-selectable.ts";

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

/** Two versions that differ in what they show and what they may be selected by. */
const gadgets = {
  ...base,
  metadata: { name: "gadgets.tools.example.com" },
  spec: {
    group: "tools.example.com",
    scope: "Cluster",
    names: { plural: "gadgets", kind: "Gadget" },
    versions: [
      ["v1", "color"],
      ["v2", "size"],
    ].map(([name, field]) => ({
      name,
      served: true,
      storage: name === "v1",
      // A real server takes what all versions have alike for no version's own, and then misses it.
      schema: {
        openAPIV3Schema: {
          type: "object",
          description: `of ${name}`,
          properties: {
            spec: {
              type: "object",
              properties: {
                color: { type: "string" },
                size: { type: "integer" },
                by: { type: "string", default: "me" },
              },
            },
          },
        },
      },
      selectableFields: [{ jsonPath: `.spec.${field}` }],
      additionalPrinterColumns: [{ name: field, type: "string", jsonPath: `.spec.${field}` }],
    })),
  },
};

const bookDefinition = (spec: object) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "books.library.example.com" },
  spec: {
    group: "library.example.com",
    scope: "Namespaced",
    names: { plural: "books", kind: "Book" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      },
    ],
  },
});

/** What a webhook would add to each gadget and map that has this label. */
const added = [
  { op: "add", path: "/spec", value: { color: "blue", nonsense: 1 } },
  { op: "add", path: "/nonsense", value: {} },
];
const hooked = { hooked: "yes" };

describe("custom resources beside Kubernetes' own", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let site: SharedTestSite;
  let microkube: Microkube;
  let webhook: Server;
  const clients: KubeClient[] = [];

  before(async () => {
    [site, microkube] = await Promise.all([sharedTestSite(), startMicrokube({ controllers: false, scheduler: false })]);
    clients.push(new Client(site.config), microkube.client());
    for (const one of [definition(schema), gadgets]) {
      for (const { code, body } of await both("POST", CRDS, one)) assert.equal(code, 201, JSON.stringify(body));
    }
    await Promise.all(clients.flatMap((client) => [established(client, WIDGETS), established(client, GADGETS)]));
    webhook = await startWebhook(microkube);
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    webhook?.close();
    webhook?.closeAllConnections();
    await microkube?.close();
  });

  const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";
  const BOOKS = "/apis/library.example.com/v1/namespaces/default/books";
  const GADGETS = "/apis/tools.example.com/v2/gadgets";

  async function established(client: KubeClient, path: string): Promise<void> {
    for (let i = 0; i < 600; i++) {
      const [, , group, , ...rest] = path.split("/");
      const { body } = await send(client, "GET", `${CRDS}/${rest.at(-1)}.${group}`);
      // A real server first writes null there.
      const conditions = (body as { status: { conditions?: { type: string; status: string }[] } }).status.conditions;
      const served = await send(client, "GET", path);
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
        body: plain(path.includes("watch=true") ? lines(response.body) : JSON.parse(response.body.toString())),
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

  it("are checked with the libraries that are there", async () => {
    const rules = [...trueExpressions, ...failingExpressions].map((rule) => ({ rule }));
    const formats = formatExpressions.map((expression) => ({
      rule: `!format.${expression}.hasValue()`,
      messageExpression: `format.${expression}.value()[0]`,
    }));
    const spec = { type: "object", "x-kubernetes-validations": [...rules, ...formats] };
    for (const { code, body } of await both("POST", CRDS, bookDefinition(spec))) {
      assert.equal(code, 201, JSON.stringify(body));
    }
    await Promise.all(clients.map((client) => established(client, BOOKS)));
    const book = { apiVersion: "library.example.com/v1", kind: "Book", metadata: { name: "b" }, spec: {} };
    const { body } = await same("POST", BOOKS, book);
    const { causes } = (body as { details: { causes: unknown[] } }).details;
    assert.equal(causes.length, failingExpressions.length + formatExpressions.length);
  });

  for (const [title, object] of Object.entries(badDefinitions)) {
    it(`are not defined as there: ${title}`, async () => {
      await same("POST", `${CRDS}?dryRun=All`, object);
    });
  }

  for (const [title, object] of Object.entries(selectableDefinitions)) {
    it(`may be selected as there: ${title}`, async () => {
      await same("POST", `${CRDS}?dryRun=All`, object);
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

  it("are selected and shown by what their version says", async () => {
    const gadget = { apiVersion: "tools.example.com/v1", kind: "Gadget", metadata: { name: "g" } };
    await same("POST", V1_GADGETS, { ...gadget, spec: { color: "red", size: 3 } });
    const found = async (path: string, selector: string) => {
      const { body } = await same("GET", `${path}?fieldSelector=${encodeURIComponent(selector)}`);
      return (body as { items?: unknown[] }).items?.length;
    };
    assert.equal(await found(V1_GADGETS, "spec.color=red"), 1);
    assert.equal(await found(V1_GADGETS, "spec.color!=red"), 0);
    assert.equal(await found(GADGETS, "spec.size=3,metadata.name=g"), 1);
    assert.equal(await found(GADGETS, "spec.color=red"), undefined);
    assert.equal(await found(V1_GADGETS, "spec.size=3"), undefined);
    assert.equal(await found(GADGETS, "metadata.namespace=default"), undefined);
    // Long enough for a server that stands still for a moment to say something first.
    const watched = "watch=true&resourceVersion=0&timeoutSeconds=4&fieldSelector=spec.size";
    const events = async (selector: string) =>
      (await same("GET", `${GADGETS}?${watched}${selector}`)).body as unknown[];
    const [some, none] = await Promise.all([events("%3D3"), events("%3D4")]);
    assert.deepEqual([some.length, none.length], [1, 0]);
    for (const path of [V1_GADGETS, GADGETS]) {
      await same("GET", path, undefined, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
    }
    await same("DELETE", `${GADGETS}/g`);
  });

  it("lose what a webhook adds and nobody knows, as built-in kinds do", async () => {
    const { port } = webhook.address() as AddressInfo;
    const caBundle = Buffer.from(microkube.credentials.clusterCa.certificate).toString("base64");
    const hook = {
      name: "adds.example.com",
      clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
      rules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["CREATE"], resources: ["gadgets", "configmaps"] }],
      objectSelector: { matchLabels: hooked },
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
    };
    const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    await both("POST", configurations, { metadata: { name: "adds" }, webhooks: [hook] });
    const metadata = { name: "h", labels: hooked };
    const gadget = { apiVersion: "tools.example.com/v2", kind: "Gadget", metadata };
    const isCalled = async () =>
      (await both("POST", `${GADGETS}?dryRun=All`, gadget)).every(({ body }) => (body as { spec?: object }).spec);
    for (let i = 0; !(await isCalled()); i++) {
      assert.ok(i < 600, "the webhook was never called");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { body } = await same("POST", GADGETS, gadget);
    assert.deepEqual((body as { spec: unknown }).spec, { color: "blue", by: "me" });
    await same("POST", "/api/v1/namespaces/default/configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata });
  });
});

const V1_GADGETS = "/apis/tools.example.com/v1/gadgets";

async function startWebhook({ credentials }: Microkube): Promise<Server> {
  const patch = Buffer.from(JSON.stringify(added)).toString("base64");
  const server = createServer(credentials.server, async (request, response) => {
    const { apiVersion, kind, request: asked } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const answer = { uid: asked.uid, allowed: true, patchType: "JSONPatch", patch };
    response.end(JSON.stringify({ apiVersion, kind, response: answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** The events of a watch that has ended. */
function lines(body: Buffer): unknown[] {
  const texts = body.toString().split("\n");
  return texts.filter((line) => line !== "").map((line) => JSON.parse(line));
}

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
