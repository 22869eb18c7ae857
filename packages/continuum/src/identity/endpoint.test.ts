import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkEndpoint, checkEndpoints } from "./endpoint.ts";
import { oddEndings } from "./test-endpoints.ts";

test("addresses of agents are taken as they are", () => {
  for (const endpoint of [
    "https://site.example",
    "https://site.example:7443",
    "https://10.0.0.1:7443/agents/wave",
    "https://[fd00::1]:7443",
    "https://localhost:1/",
  ]) {
    assert.equal(checkEndpoint(endpoint), endpoint);
  }
});

test("whatever else a URL can be is refused, and says why", () => {
  for (const [endpoint, problem] of [
    ["http://site.example", /does not begin with https/],
    ["file:///etc/passwd", /does not begin with https/],
    ["javascript:alert(1)", /does not begin with https/],
    ["site.example:7443", /https/],
    ["", /no URL/],
    ["https://", /no URL/],
    ["https://a:70000", /no URL/],
    ["https://a:0", /not just a host/],
    ["https://a?b", /not just a host/],
    ["https://a#b", /not just a host/],
    ["https://a/b c", /not just a host/],
    [" https://a", /not just a host/],
    ["https://a\n", /not just a host/],
    ["https://a\r\nHost: b", /no URL|not just a host/],
    ["https://a/%zz", /not just a host/],
    ["https://a/\u0001", /not just a host/],
    ["https://a`b", /not just a host/],
    ["https:\\\\a", /not just a host/],
    [`https://${"a".repeat(250)}`, /more than 256/],
    [7, /no text/],
    [undefined, /no text/],
  ] as const) {
    assert.throws(() => checkEndpoint(endpoint), { code: "ENDPOINT_REFUSED", message: problem }, String(endpoint));
  }
});

test("credentials in an address are refused and not repeated", () => {
  for (const endpoint of [
    "https://user:sesame@site.example",
    "https://sesame@site.example",
    "https://:sesame@site.example/",
  ]) {
    assert.throws(
      () => checkEndpoint(endpoint),
      (error: Error) => /credentials/.test(error.message) && !error.message.includes("sesame"),
    );
  }
});

test("a list is short, and holds each address once", () => {
  assert.deepEqual(checkEndpoints(["https://b", "https://a", "https://b"]), ["https://b", "https://a"]);
  assert.deepEqual(checkEndpoints([]), []);
  assert.throws(() => checkEndpoints(Array.from({ length: 9 }, (_, index) => `https://h${index}`)), {
    code: "ENDPOINT_REFUSED",
  });
  for (const value of [undefined, null, "https://a", {}, [["https://a"]], [null]]) {
    assert.throws(() => checkEndpoints(value), { code: "ENDPOINT_REFUSED" });
  }
});

test("what passes can be dialled, and leads where it says", () => {
  fc.assert(
    fc.property(oddEndings, (rest) => {
      const endpoint = `https://${rest}`;
      try {
        checkEndpoint(endpoint);
      } catch (error) {
        assert.equal((error as { code?: string }).code, "ENDPOINT_REFUSED");
        return;
      }
      const url = new URL(endpoint);
      assert.deepEqual([url.protocol, url.username, url.password, url.search, url.hash], ["https:", "", "", "", ""]);
      assert.notEqual(url.hostname, "");
    }),
    { numRuns: 2_000 },
  );
});
