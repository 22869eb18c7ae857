import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseKubePath } from "./kube-path.ts";
import type { Verb } from "./rules.ts";
import { writeOutcome } from "./write-outcome.ts";

const MAPS = "/api/v1/namespaces/shop/configmaps";

function outcome(verb: Verb, statusCode: number, body: unknown) {
  const path = parseKubePath(verb === "create" ? MAPS : `${MAPS}/web`);
  assert.ok(path !== undefined);
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return writeOutcome(verb, path, { statusCode, body: bytes });
}

const status = (name: string) => ({ kind: "Status", apiVersion: "v1", details: { name } });
const map = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "web" } };

describe("what is left of a write", () => {
  test("is the object as it was answered", () => {
    assert.deepEqual(outcome("create", 201, map), { kept: JSON.stringify(map).length });
    assert.equal(outcome("create", 409, status("web")), "undone");
    assert.equal(outcome("delete", 200, map), "undone");
    assert.equal(outcome("delete", 200, { about: { kind: "Status" }, ...map }), "undone");
  });

  test("is nothing of what was deleted, or is not there", () => {
    assert.equal(outcome("delete", 200, status("web")), "gone");
    assert.equal(outcome("delete", 404, status("web")), "gone");
    assert.equal(outcome("patch", 404, status("web")), "gone");
  });

  test("is what there was, where the path itself is not served", () => {
    assert.equal(outcome("delete", 404, "404 page not found\n"), "undone");
    assert.equal(outcome("delete", 404, { kind: "Status", apiVersion: "v1", details: {} }), "undone");
    assert.equal(outcome("create", 404, "404 page not found\n"), "undone");
    assert.equal(outcome("create", 404, status("shop")), "undone");
  });
});
