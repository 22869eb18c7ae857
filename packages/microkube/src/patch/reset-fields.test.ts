import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInSchemas } from "../schema/built-in-schemas.ts";
import { resetFieldsFor } from "./reset-fields.ts";

test("writing an object does not write its status, writing its status not its spec", () => {
  assert.deepEqual(resetFieldsFor({ group: "apps", kind: "ReplicaSet" }, ""), [["status"]]);
  assert.deepEqual(resetFieldsFor({ group: "apps", kind: "ReplicaSet" }, "status"), [["spec"]]);
  assert.deepEqual(resetFieldsFor({ group: "apps", kind: "Deployment" }, "status"), [["spec"], ["metadata", "labels"]]);
  assert.deepEqual(resetFieldsFor({ group: "x.y", kind: "Foo", isCustom: true }, "status"), [["spec"], ["metadata"]]);
});

test("ephemeral containers are all that their own path writes", () => {
  const schema = builtInSchemas().of({ group: "", version: "v1", kind: "Pod" });
  const reset = resetFieldsFor({ group: "", kind: "Pod" }, "ephemeralcontainers", schema).map((path) => path.join("."));
  assert.ok(reset.includes("spec.containers") && !reset.includes("spec.ephemeralContainers"));
});
