import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { dataFile } from "../../data-file.ts";
import { OpenApiDocuments } from "./documents.ts";
import { swaggerProtobuf } from "./swagger-protobuf.ts";

const data = (name: string) => gunzipSync(readFileSync(dataFile(`openapi/${name}`)));

test("fields have the numbers that readers know, in their order, and what is empty is left out", () => {
  const hex = (document: object) => swaggerProtobuf(document).toString("hex");
  assert.equal(hex({ swagger: "2.0", host: "" }), "0a03322e30");
  // definitions (9) { pair (1) { name (1) "A", value (2) { type (22) { "string" }, x- (31) { name, { yaml (2) } } } } }
  const extended = { definitions: { A: { "x-a": true, type: "string" } } };
  const extension = "0a03782d61" + "1207" + "1205747275650a";
  const schema = `${"b20108" + "0a06737472696e67"}fa010e${extension}`;
  assert.equal(hex(extended), `4a230a21${"0a0141"}121c${schema}`);
  assert.equal(
    hex({ definitions: { A: { minimum: 1, maxItems: 300, uniqueItems: true } } }),
    "4a160a140a0141120f49000000000000f03f70ac02800101",
  );
});

test("the whole document lies beside the one in JSON, and has the same in it", () => {
  assert.ok(swaggerProtobuf(JSON.parse(data("v2.json.gz").toString())).equals(data("v2.pb.gz")));
});

test("custom kinds are added to it", async () => {
  const names = { group: "shop.example.com", version: "v1", kind: "Toy", listKind: "ToyList", plural: "toys" };
  const schema = {
    type: "object",
    properties: { spec: { type: "object", properties: { sizeOfToy: { type: "integer" } } } },
  };
  const has = { hasStatus: true, hasScale: false, preserveUnknownFields: false };
  const custom = [{ ...names, ...has, namespaced: true, schema }];
  const documents = new OpenApiDocuments(() => custom);
  const whole = gunzipSync((await documents.v2Protobuf()).gzip);
  assert.ok(whole.subarray(0, data("v2.pb.gz").length).equals(data("v2.pb.gz")));
  for (const text of ["sizeOfToy", "/apis/shop.example.com/v1/namespaces/{namespace}/toys"])
    assert.ok(whole.includes(text));
  assert.equal(documents.v2Protobuf(), documents.v2Protobuf());
});
