import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { cookieOf, isFromPage, isOwnHost, readJson, securityHeaders } from "./http.ts";

const request = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage;

describe("who asks", () => {
  it("by an address, localhost or a name of the page's own; by no other", () => {
    for (const host of ["127.0.0.1:7446", "localhost:1", "[::1]:7446", "10.0.0.7", "page.example"])
      assert.ok(isOwnHost(host, ["page.example"]), host);
    for (const host of ["evil.example:7446", undefined, "", "localhost.evil.example", "a b"])
      assert.ok(!isOwnHost(host, ["page.example"]), String(host));
  });

  it("from the page itself, where something is to change", () => {
    const host = "127.0.0.1:7446";
    assert.ok(isFromPage(request({ host, origin: "http://127.0.0.1:7446" })));
    assert.ok(isFromPage(request({ host, origin: "http://127.0.0.1:7446", "sec-fetch-site": "same-origin" })));
    for (const origin of ["http://127.0.0.1:8080", "https://evil.example", "null"])
      assert.ok(!isFromPage(request({ host, origin })), origin);
    assert.ok(!isFromPage(request({ host })));
    assert.ok(!isFromPage(request({ host, origin: "http://127.0.0.1:7446", "sec-fetch-site": "cross-site" })));
  });

  it("with which cookie", () => {
    assert.equal(cookieOf(request({ cookie: "a=1; fjord=x=y; b=2" }), "fjord"), "x=y");
    assert.equal(cookieOf(request({ cookie: "xfjord=1" }), "fjord"), undefined);
    assert.equal(cookieOf(request({}), "fjord"), undefined);
  });
});

describe("what is sent", () => {
  const body = (text: string) => readJson(Readable.from([Buffer.from(text)]) as unknown as IncomingMessage);

  it("is an object of JSON, and not longer than anything needed", async () => {
    assert.deepEqual(await body('{"a":1}'), { a: 1 });
    for (const text of ["", "[1]", "null", "{", `{"a":"${"x".repeat(70_000)}"}`])
      assert.equal(await body(text), undefined);
  });
});

it("nothing is let in from elsewhere", () => {
  const policy = securityHeaders("abc")["content-security-policy"] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'self'(;|$)/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
});
