import assert from "node:assert/strict";
import { test } from "node:test";
import { requestHead } from "./request-head.ts";
import type { WireRequest } from "./wire.ts";

const get: WireRequest = {
  method: "GET",
  path: "/api?limit=1",
  headers: {},
  body: undefined,
  headersTimeoutMs: 0,
  bodyTimeoutMs: 0,
};

test("writes the lines of one request", () => {
  const headers = { "X-Group": ["a", "b"], accept: "*/*", gone: undefined };
  assert.equal(
    requestHead({ ...get, method: "POST", headers, body: "é" }, "far:6443", { "proxy-authorization": "Basic x" }),
    [
      "POST /api?limit=1 HTTP/1.1",
      "host: far:6443",
      "connection: keep-alive",
      "X-Group: a",
      "X-Group: b",
      "accept: */*",
      "proxy-authorization: Basic x",
      "content-length: 2",
      "\r\n",
    ].join("\r\n"),
  );
  assert.match(requestHead({ ...get, method: "DELETE" }, "far", {}), /content-length: 0\r\n/);
  assert.doesNotMatch(requestHead(get, "far", {}), /content-length/);
  assert.doesNotMatch(requestHead({ ...get, headers: { Host: "other" } }, "far", {}), /far/);
});

test("writes nothing that would become another request or another header", () => {
  for (const path of ["/a b", "/a\r\nx: y", "/ü", ""]) {
    assert.throws(() => requestHead({ ...get, path }, "far", {}), /unless it is escaped/);
  }
  for (const name of ["a b", "a:", "", "a\r\nb"]) {
    assert.throws(() => requestHead({ ...get, headers: { [name]: "x" } }, "far", {}), /not the name of a header/);
  }
  for (const value of ["a\r\nb: c", "a\nb", "\u0000", "日本"]) {
    const secret = { authorization: `Bearer hidden${value}` };
    assert.throws(
      () => requestHead({ ...get, headers: secret }, "far", {}),
      (error: Error) => {
        assert.match(error.message, /the header authorization has characters/);
        assert.doesNotMatch(error.message, /hidden/);
        return true;
      },
    );
  }
  for (const name of ["Transfer-Encoding", "content-length", "connection", "Upgrade"]) {
    assert.throws(() => requestHead({ ...get, headers: { [name]: "1" } }, "far", {}), /not the caller's/);
  }
});
