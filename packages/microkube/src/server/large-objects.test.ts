import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, TestApi } from "./test-api.ts";

let api: TestApi;

before(async () => {
  api = await TestApi.start();
  const schema = {
    type: "object",
    properties: {
      list: { type: "array", items: { type: "integer" } },
      name: { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" },
      words: { type: "array", items: { type: "string", enum: several(2_000, (at) => `e${at}`) } },
      any: {
        type: "array",
        items: {
          "x-kubernetes-preserve-unknown-fields": true,
          type: "object",
          anyOf: several(50, (at) => ({ required: [`z${at}`] })),
        },
      },
    },
  };
  await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.large.example" },
    spec: {
      group: "large.example",
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  while ((await api.get(things)).code !== 200);
});
after(() => api[Symbol.asyncDispose]());

const things = "/apis/large.example/v1/namespaces/default/things";
const maps = "/api/v1/namespaces/default/configmaps";
const several = <T>(count: number, one: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => one(at));
const thing = (name: string, more: object) => ({
  apiVersion: "large.example/v1",
  kind: "Thing",
  metadata: { name },
  ...more,
});
const map = (name: string, keys: number, value = "v") => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: Object.fromEntries(several(keys, (at) => [`k${at}`, value])),
});

/** What came of a request, and how many others were answered one after the other while it was worked on. */
async function beside(request: Promise<Answer>): Promise<{ answer: Answer; others: number }> {
  let others = 0;
  let isOver = false;
  const answer = request.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const { code } = await api.get("/readyz");
    assert.equal(code, 200);
    others++;
  }
  return { answer: await answer, others };
}

/** How often a machine that is done sooner than others could ask is given another chance. */
const ATTEMPTS = 5;

/** In one piece these have two or three others answered: `least` is more than that. */
async function answersOthers(
  least: number,
  code: number,
  request: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const seen: number[] = [];
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { answer, others } = await beside(request(attempt));
    assert.equal(answer.code, code);
    if (others >= least) return answer;
    seen.push(others);
  }
  assert.fail(`${seen.join(", ")} were answered meanwhile, and not ${least}`);
}

describe("work on large objects", () => {
  test("goes on beside that on others: ten thousand moves in a long list", async () => {
    const made = await api.post(things, thing("moves", { list: several(99_000, (at) => at) }));
    assert.equal(made.code, 201);
    const moves = several(10_000, () => ({ op: "move", from: "/list/0", path: "/list/98999" }));
    const { answer, others } = await beside(api.patch(`${things}/moves`, moves, "json-patch+json"));
    assert.equal(answer.code, 200);
    assert.equal((answer.body as unknown as { list: number[] }).list[0], 10_000);
    // In one piece it has one other answered.
    assert.ok(others >= 3, `${others} were answered meanwhile`);
  });

  test("goes on beside that on others: an apply of thousands of fields over as many", async () => {
    const send = (value: string) =>
      api.patch(`${maps}/applied?fieldManager=one`, map("applied", 20_000, value), "apply-patch+yaml");
    assert.equal((await send("a")).code, 201);
    await answersOthers(5, 200, (attempt) => send(`b${attempt}`));
  });

  test("goes on beside that on others: YAML", async () => {
    const lines = several(20_000, (at) => `  k${at}: v\n`).join("");
    const body = (at: number) => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: lines-${at} }\ndata:\n${lines}`;
    const headers = { "content-type": "application/yaml" };
    await answersOthers(5, 201, (attempt) => api.send("POST", maps, { body: body(attempt), headers }));
  });

  test("is not begun where there are too many values", async () => {
    const list = await api.post(things, thing("list", { list: several(101_000, () => 1) }));
    assert.equal(list.code, 413);
    assert.equal(list.body.message, "Request entity too large: more than 100000 values in one object");
    const flow = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {${several(60_000, (at) => `k${at}: v`)}}}`;
    const yaml = await api.send("POST", maps, { body: flow, headers: { "content-type": "application/yaml" } });
    assert.equal(yaml.code, 413);
    assert.match(yaml.body.message, /send it as JSON$/);
    const applied = await api.patch(`${maps}/a?fieldManager=one`, flow, "apply-patch+yaml");
    assert.equal(applied.code, 413);
    const patch = await api.patch(
      `${maps}/a`,
      several(40_000, () => ({ op: "test", path: "/a" })),
      "json-patch+json",
    );
    assert.equal(patch.code, 413);
  });

  test("does not let patches make an object grow beyond that", async () => {
    assert.equal((await api.post(things, thing("grows", { list: several(99_000, () => 1) }))).code, 201);
    const adds = several(2_000, () => ({ op: "add", path: "/list/-", value: 1 }));
    const { code, body } = await api.patch(`${things}/grows`, adds, "json-patch+json");
    assert.equal(code, 413);
    assert.match(body.message, /more than 100000 values/);
  });

  test("knows what an enumeration allows without looking through it, and tells of a thousand mistakes at most", async () => {
    const right = await api.post(things, thing("right", { words: several(90_000, () => "e1999") }));
    assert.equal(right.code, 201);
    const { code, body } = await api.post(things, thing("wrong", { words: several(90_000, () => "x") }));
    assert.equal(code, 422);
    assert.ok((body.details as { causes: unknown[] }).causes.length <= 1_000);
    assert.match(body.message, /and \d+ more\]$/);
  });

  test("is bounded where alternatives multiply it", async () => {
    const { code, body } = await api.post(things, thing("any", { any: several(30_000, () => ({ z49: 1 })) }));
    assert.equal(code, 422);
    assert.match(body.message, /takes more than 300000 steps to validate/);
  });

  test("refuses a text that takes long to compare with a pattern", async () => {
    const { code, body } = await api.post(things, thing("long", { name: `${"a".repeat(1_000_000)}!` }));
    assert.equal(code, 422);
    assert.match(body.message, /name in body is too long to be compared with/);
  });

  test("goes on beside that on others: hundreds of deletions in one request", async () => {
    const path = "/api/v1/namespaces/kube-public/configmaps";
    for (let at = 0; at < 600; at += 20)
      await Promise.all(several(20, (index) => api.post(path, map(`many-${at + index}`, 0))));
    const { answer, others } = await beside(api.send("DELETE", path));
    assert.equal(answer.code, 200);
    assert.ok(others >= 3, `${others} were answered meanwhile`);
    assert.deepEqual((await api.get(path)).body.items, []);
  });

  test("warns once of each thing, however many there are", async () => {
    const env = several(15_000, () => ({ name: "E", value: "v" }));
    const pod = { containers: [{ name: "a", image: "i", env }] };
    const { code, headers } = await api.post("/api/v1/namespaces/default/pods?dryRun=All", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "many" },
      spec: { automountServiceAccountToken: false, ...pod },
    });
    assert.ok([201, 403].includes(code), String(code));
    assert.ok((headers.warning ?? "").length < 16 * 1024);
  });
});
