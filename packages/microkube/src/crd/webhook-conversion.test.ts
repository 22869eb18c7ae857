import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { TestApi } from "../server/test-api.ts";

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Shirt[] };
}
type Shirt = KubeObject & { spec: { size?: string; sizes?: string[]; first?: string } };

let api: TestApi;
let webhook: Server;
let answer: (review: Review) => object = convert;
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const shirts = (version: string) => `/apis/shop.example.com/${version}/namespaces/default/shirts`;

/** v1 has one size, v2 many. */
function convert({ apiVersion, kind, request }: Review): object {
  const convertedObjects = request.objects.map(({ spec: { size, sizes }, ...rest }) => ({
    ...rest,
    apiVersion: request.desiredAPIVersion,
    spec: request.desiredAPIVersion.endsWith("/v2") ? { sizes: [size ?? ""], first: size } : { size: sizes?.[0] },
  }));
  return { apiVersion, kind, response: { uid: request.uid, result: { status: "Success" }, convertedObjects } };
}

before(async () => {
  api = await TestApi.start();
  const { credentials } = api.microkube;
  webhook = createServer(credentials.server, async (request, response) => {
    const review = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Review;
    response.end(JSON.stringify(answer(review)));
  });
  await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve));
  const { port } = webhook.address() as AddressInfo;
  const caBundle = Buffer.from(credentials.clusterCa.certificate).toString("base64");
  const schema = (properties: object) => ({
    openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } },
  });
  const many = { sizes: { type: "array", items: { type: "string" } }, first: { type: "string" } };
  const byField = (name: string) => ({
    selectableFields: [{ jsonPath: `.spec.${name}` }],
    additionalPrinterColumns: [{ name, type: "string", jsonPath: `.spec.${name}` }],
  });
  const made = await api.post(definitions, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "shirts.shop.example.com" },
    spec: {
      group: "shop.example.com",
      scope: "Namespaced",
      names: { plural: "shirts", kind: "Shirt" },
      versions: [
        { name: "v1", served: true, storage: true, schema: schema({ size: { type: "string" } }), ...byField("size") },
        { name: "v2", served: true, storage: false, schema: schema(many), ...byField("first") },
      ],
      conversion: {
        strategy: "Webhook",
        webhook: {
          clientConfig: { url: `https://127.0.0.1:${port}/convert`, caBundle },
          conversionReviewVersions: ["v1"],
        },
      },
    },
  });
  assert.equal(made.code, 201, made.text);
  while ((await api.get(shirts("v2"))).code !== 200) await new Promise((resolve) => setTimeout(resolve, 10));
});
after(async () => {
  await api[Symbol.asyncDispose]();
  webhook.close();
  webhook.closeAllConnections();
});

const shirt = (name: string, version: string, spec: object) => ({
  apiVersion: `shop.example.com/${version}`,
  kind: "Shirt",
  metadata: { name },
  spec,
});
const read = async (version: string, name: string) => (await api.get(`${shirts(version)}/${name}`)).body;
const specOf = (body: unknown) => {
  const { first: _, ...spec } = (body as Shirt).spec;
  return spec;
};

test("objects are seen in each version, whichever they are kept in", async () => {
  await api.post(shirts("v1"), shirt("old", "v1", { size: "S" }));
  const made = await api.post(shirts("v2"), shirt("new", "v2", { sizes: ["L"] }));
  assert.deepEqual([made.code, specOf(made.body)], [201, { sizes: ["L"] }], made.text);
  assert.deepEqual(specOf(await read("v2", "old")), { sizes: ["S"] });
  assert.deepEqual(specOf(await read("v1", "new")), { size: "L" });
  const { body } = await api.get(shirts("v2"));
  assert.deepEqual(body.items.map(specOf), [{ sizes: ["L"] }, { sizes: ["S"] }]);
  const changed = await api.patch(`${shirts("v2")}/old`, { spec: { sizes: ["M"] } });
  assert.equal(changed.code, 200, changed.text);
  assert.deepEqual(specOf(await read("v1", "old")), { size: "M" });
});

test("what was kept in another version before is seen as all else", async () => {
  const path = "/spec/versions";
  const operations = [0, 1].map((at) => ({ op: "replace", path: `${path}/${at}/storage`, value: at === 1 }));
  const moved = await api.patch(`${definitions}/shirts.shop.example.com`, operations, "json-patch+json");
  assert.equal(moved.code, 200, moved.text);
  await api.post(shirts("v1"), shirt("late", "v1", { size: "XL" }));
  for (const [version, expected] of [
    ["v1", [{ size: "XL" }, { size: "L" }, { size: "M" }]],
    ["v2", [{ sizes: ["XL"] }, { sizes: ["L"] }, { sizes: ["M"] }]],
  ] as const) {
    const { items } = (await api.get(shirts(version))).body;
    assert.deepEqual(items.map(specOf), expected);
    assert.deepEqual(new Set(items.map(({ apiVersion }) => apiVersion)), new Set([`shop.example.com/${version}`]));
  }
  const before = await read("v2", "old");
  const same = await api.patch(`${shirts("v2")}/old`, {});
  assert.notEqual(same.body.metadata.resourceVersion, before.metadata.resourceVersion, "it is kept anew");
  assert.equal((await api.send("DELETE", `${shirts("v1")}/new`)).code, 200);
});

test("a webhook's failures are told in the real server's words", async () => {
  const refused = async (how: typeof answer) => {
    answer = how;
    const { code, body } = await api.get(`${shirts("v1")}/late`);
    answer = convert;
    assert.equal(code, 500);
    return body.message;
  };
  const of = "conversion webhook for shop.example.com/v2, Kind=Shirt";
  const failed = (message?: string) => (review: Review) => ({
    ...review,
    response: { uid: review.request.uid, result: { status: "Failure", ...(message && { message }) } },
  });
  assert.equal(await refused(failed("too large")), `${of} failed: too large`);
  assert.equal(await refused(failed()), `${of} failed: response.result.status was 'Failure', not 'Success'`);
  assert.equal(await refused(({ apiVersion, kind }) => ({ apiVersion, kind })), `${of} failed: no response provided`);
  const changed = (change: object) => (review: Review) => {
    const whole = convert(review) as { response: { convertedObjects: KubeObject[] } };
    const [first] = whole.response.convertedObjects;
    return { ...whole, response: { ...whole.response, convertedObjects: [{ ...first, ...change }] } };
  };
  assert.equal(
    await refused(changed({ apiVersion: "shop.example.com/v2" })),
    `${of} returned invalid object at index 0: invalid groupVersion (expected shop.example.com/v1, received shop.example.com/v2)`,
  );
  assert.match(
    await refused(changed({ metadata: { name: "other" } })),
    /returned invalid object: must have the same name: late != other$/,
  );
});

const others = (version: string) => shirts(version).replace("/default/", "/kube-public/");

test("each version has fields to select by and columns of its own", async () => {
  await Promise.all(
    ["S", "M"].map((size) => api.post(others("v1"), shirt(`of-${size.toLowerCase()}`, "v1", { size }))),
  );
  const names = async (version: string, selector: string) => {
    const { body } = await api.get(`${others(version)}?fieldSelector=${encodeURIComponent(selector)}`);
    return body.items?.map(({ metadata }) => metadata.name) ?? body.message;
  };
  assert.deepEqual(await names("v1", "spec.size=S"), ["of-s"]);
  assert.deepEqual(await names("v2", "spec.first=S,metadata.name!=of-m"), ["of-s"]);
  assert.equal(await names("v2", "spec.size=S"), "field label not supported: spec.size");
  assert.equal(await names("v1", "spec.first=S"), "field label not supported: spec.first");
  const { body } = await api.get(`${others("v2")}/of-m`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
  assert.deepEqual(body.rows[0]?.cells, ["of-m", "M"]);
  assert.deepEqual(
    body.columnDefinitions.map(({ name }) => name),
    ["Name", "first"],
  );
});

test("what a watch selects by its version's fields comes into sight and leaves it", async () => {
  const seen: string[] = [];
  const selector = encodeURIComponent("spec.first=XS");
  const events = api.watch(
    `${others("v2")}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=${selector}`,
  );
  await api.post(others("v1"), shirt("watched", "v1", { size: "XS" }));
  for await (const { type, object } of events) {
    if (type === "BOOKMARK") {
      await api.patch(`${others("v1")}/watched`, { spec: { size: "XXL" } });
      await api.patch(`${others("v1")}/watched`, { spec: { size: "XS" } });
      await api.send("DELETE", `${others("v1")}/watched`);
      continue;
    }
    seen.push(`${type} ${object.metadata.name} ${(object as unknown as Shirt).spec.first}`);
    if (seen.length === 4) break;
  }
  assert.deepEqual(seen, ["ADDED watched XS", "DELETED watched XS", "ADDED watched XS", "DELETED watched XS"]);
});
