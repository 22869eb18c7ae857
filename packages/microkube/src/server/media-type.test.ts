import assert from "node:assert/strict";
import { test } from "node:test";
import { answerForm } from "./media-type.ts";

const shapes = ["Table", "PartialObjectMetadata"];

test("the first form that is offered is taken", () => {
  const kubectl =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
  assert.deepEqual(answerForm(kubectl, shapes), { format: "json", as: "Table", version: "v1" });
  assert.deepEqual(answerForm(kubectl, []), { format: "json" });
  assert.deepEqual(answerForm("application/vnd.kubernetes.protobuf, */*", shapes), { format: "json" });
  assert.deepEqual(answerForm("application/yaml", shapes), { format: "yaml" });
  assert.deepEqual(answerForm("application/yaml;q=0.5, application/json", shapes), { format: "json" });
  assert.deepEqual(answerForm(undefined, shapes), { format: "json" });
});

test("what nobody offers is refused", () => {
  for (const accept of [
    "text/html",
    "application/json;as=Chair;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
  ]) {
    assert.throws(() => answerForm(accept, shapes), { code: 406 });
  }
});
