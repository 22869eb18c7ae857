import assert from "node:assert/strict";
import { test } from "node:test";
import { auditLog } from "@fjord/continuum/peering";
import { requestsIn, writeStorms, writesOutside } from "./audit.ts";

/** A line as the agent writes it. */
function line(verb: string, path: string, status = 201): string {
  let text = "";
  const info = (message: string, fields: object = {}) => {
    const values = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    text = `2030-01-01T00:00:00.000Z info  ${message}${values.join("")}`;
  };
  const logger = { debug() {}, info, warn() {}, error() {} };
  auditLog(logger)({ time: 1, consumer: "abc", verb, path, status, ms: 1, bytesIn: 1, bytesOut: 1 });
  return text;
}

const twins = new Set(["shop-abc"]);

test("writes in twins and in the tenant's namespace are where they belong", () => {
  const log = [
    line("create", "/apis/fjord.dev/v1alpha1/namespaces/shop-abc/shadowpods"),
    line("delete", "/apis/fjord.dev/v1alpha1/namespaces/fjord-tenant-abc/twinnamespaces/shop", 200),
    line("list", "/api/v1/pods", 200),
    "something else",
  ].join("\n");
  assert.deepEqual(writesOutside(log, twins), []);
  assert.equal(requestsIn(log), 3);
});

test("a write elsewhere is found, unless it was refused", () => {
  for (const path of ["/api/v1/namespaces/default/pods", "/api/v1/nodes", "/api/v1/namespaces/shop-abc"])
    assert.equal(writesOutside(line("create", path), twins).length, 1, path);
  assert.deepEqual(writesOutside(line("create", "/api/v1/nodes", 403), twins), []);
  assert.equal(writesOutside(line("create", "/api/v1/namespaces/fjord-tenant-xyz/secrets"), twins).length, 1);
});

test("a fight over an object is found, also where each round makes it under another name", () => {
  const path = (suffix: number) => `/apis/discovery.k8s.io/v1/namespaces/shop-abc/endpointslices/web-abc${suffix}`;
  const log = Array.from({ length: 60 }, (_, i) => line("delete", path(10 + i), 200)).join("\n");
  assert.deepEqual(writeStorms(log, 59), [`abc: delete ${path(10).replace("abc10", "*")}, 60 times`]);
  assert.deepEqual(writeStorms(log, 60), []);
});
