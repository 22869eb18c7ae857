import assert from "node:assert/strict";
import { test } from "node:test";
import { isLoopback, type PageFlags, pageSettings } from "./page-flags.ts";

const flags = (more: Partial<PageFlags> = {}): PageFlags => ({
  pageListen: "127.0.0.1:7446",
  pageActions: false,
  pageHost: [],
  ...more,
});

test("the page is on loopback, and only for reading, unless its owner says otherwise", async () => {
  const settings = await pageSettings(flags());
  assert.deepEqual(settings?.listen, { host: "127.0.0.1", port: 7446 });
  assert.equal(settings?.actions, false);
  assert.equal(settings?.demo, undefined);
  assert.equal(await pageSettings(flags({ pageListen: "off" })), undefined);
});

test("beyond this machine it needs TLS", async () => {
  await assert.rejects(pageSettings(flags({ pageListen: "0.0.0.0:7446" })), { code: "PAGE_LISTEN_UNSAFE" });
  await assert.rejects(pageSettings(flags({ pageTlsCert: "/tmp/cert" })), /a certificate and its key/);
  for (const host of ["127.0.0.1", "127.64.3.1", "localhost", "::1"]) assert.ok(isLoopback(host), host);
  for (const host of ["", "0.0.0.0", "::", "10.0.0.1", "127.evil.example"]) assert.ok(!isLoopback(host), host);
});

test("a demo is named by a URL", async () => {
  assert.equal((await pageSettings(flags({ pageDemo: "http://127.0.0.1:9/" })))?.demo, "http://127.0.0.1:9/");
  await assert.rejects(pageSettings(flags({ pageDemo: "yes" })), /must be a URL/);
});
