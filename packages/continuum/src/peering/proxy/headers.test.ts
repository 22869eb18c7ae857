import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tenantOf } from "../tenant/tenant-forge.ts";
import { answerHeaders, impersonating, upstreamHeaders } from "./headers.ts";

const tenant = tenantOf("mzxw6ytboi2dcmrtgq2tmnzyhe");
const hostile = [
  "authorization",
  "impersonate-user",
  "impersonate-group",
  "impersonate-uid",
  "impersonate-extra-scopes",
  "x-remote-user",
  "x-remote-group",
  "x-remote-extra-a",
  "x-forwarded-for",
  "x-forwarded-uri",
  "forwarded",
  "proxy-authorization",
  "cookie",
  "host",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "content-length",
  "expect",
  "via",
  "x-http-method-override",
  "audit-id",
  "traceparent",
  "origin",
];

describe("headers to the API server", () => {
  for (const sort of ["read", "write", "upgrade"] as const) {
    test(`of a ${sort} say who asks by the tenant alone`, () => {
      const asked = Object.fromEntries(hostile.map((name) => [name, "evil"]));
      const sent = upstreamHeaders({ ...asked, accept: "a/b", "user-agent": "me" }, sort, impersonating(tenant));
      assert.deepEqual(
        Object.values(sent).filter((value) => value === "evil"),
        [],
      );
      assert.equal(sent.accept, sort === "write" ? "application/json" : "a/b");
      assert.equal(sent["impersonate-user"], tenant.user);
      assert.deepEqual(sent["impersonate-group"], [
        "system:serviceaccounts",
        `system:serviceaccounts:${tenant.namespace}`,
        "system:authenticated",
      ]);
    });
  }

  test("of a tenant-wide read impersonate nobody, whatever was asked", () => {
    const sent = upstreamHeaders({ "impersonate-user": "root" }, "read", {});
    assert.deepEqual(Object.keys(sent), []);
  });

  test("of an upgrade hold its handshake", () => {
    const handshake = { upgrade: "websocket", "sec-websocket-key": "k", "sec-websocket-protocol": "v5.channel.k8s.io" };
    const sent = upstreamHeaders({ ...handshake, connection: "keep-alive, x" }, "upgrade", {});
    assert.deepEqual(sent, { ...handshake, connection: "Upgrade" });
    assert.equal(upstreamHeaders(handshake, "read", {}).upgrade, undefined);
  });
});

describe("headers to the consumer", () => {
  test("tell nothing of the API server beyond the answer", () => {
    const answer = { "content-type": "a/b", "audit-id": "1", "x-kubernetes-pf-flowschema-uid": "2", server: "x" };
    assert.deepEqual(answerHeaders(answer, "plain"), { "content-type": "a/b" });
  });

  test("say what time it is there, by which the times in the answer are", () => {
    const date = "Tue, 01 Jan 2030 00:00:00 GMT";
    assert.deepEqual(answerHeaders({ date, server: "x" }, "plain"), { date });
  });
});
