import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { StatusError } from "../status-error.ts";
import { Exchange } from "./exchange.ts";

test("a body that does not come to its end in time is answered, and not waited for", async (t) => {
  const server = createServer(async (incoming, response) => {
    const exchange = new Exchange(incoming, response, undefined, 100);
    await exchange.body().catch((error: unknown) => {
      assert(error instanceof StatusError);
      return exchange.sendError(error);
    });
  });
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const slow = request({ port, host: "127.0.0.1", method: "POST", headers: { "content-length": 1000 } });
  slow.write("{");
  const [response] = await once(slow, "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  assert.deepEqual([response.statusCode, response.headers.connection], [504, "close"]);
  assert.equal(JSON.parse(text).reason, "Timeout");
});

test("who is still sending a body that nobody wants hears why", async (t) => {
  const server = createServer((incoming, response) => {
    const exchange = new Exchange(incoming, response);
    void exchange.sendError(new StatusError(404, "NotFound", "nothing is there"));
  });
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // More than what lies in buffers on the way.
  const sent = request({ port, host: "127.0.0.1", method: "POST" });
  for (let n = 0; n < 20; n++) sent.write(Buffer.alloc(1024 * 1024));
  sent.end();
  const [[response]] = await Promise.all([once(sent, "response"), once(sent, "finish")]);
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  assert.deepEqual([response.statusCode, JSON.parse(text).reason], [404, "NotFound"]);
});

test("warnings never make the head of an answer too large for clients", async (t) => {
  const server = createServer((incoming, response) => {
    const exchange = new Exchange(incoming, response);
    for (let n = 0; n < 50; n++) exchange.warn(`unknown field "${n}${"x".repeat(20_000)}"`);
    exchange.send(200, "text/plain", "ok");
  });
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  assert.equal(await response.text(), "ok");
  assert.match(response.headers.get("warning") ?? "", /^299 - "unknown field/);
});
