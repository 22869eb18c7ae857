import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { HealthChecks } from "./health.ts";
import { healthHandler } from "./health-handler.ts";

async function serve(metrics?: Parameters<typeof healthHandler>[0]["metrics"]) {
  const health = new HealthChecks({ clock: systemClock });
  const ready = new HealthChecks({ clock: systemClock });
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (_: string, fields?: unknown) => warnings.push(fields) };
  const server = createServer(healthHandler({ health, ready, logger, ...(metrics && { metrics }) }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = async (path: string, method = "GET") => {
    const response = await fetch(base + path, { method });
    return { status: response.status, body: await response.text(), type: response.headers.get("content-type") };
  };
  return { health, ready, ask, warnings, [Symbol.asyncDispose]: async () => void server.close().closeAllConnections() };
}

describe("health", () => {
  test("a check that never answers has failed, and is told so", async () => {
    const clock = new ManualClock();
    const checks = new HealthChecks({ clock, timeoutMs: 1000 });
    let told = false;
    checks.add("stuck", (signal) => new Promise(() => signal.addEventListener("abort", () => (told = true))));
    checks.add("fine", () => {});
    const report = checks.report();
    await clock.advance(1000);
    assert.deepEqual(await report, {
      ok: false,
      checks: [
        { name: "stuck", ok: false, message: "no answer within 1000 ms" },
        { name: "fine", ok: true },
      ],
    });
    assert.equal(told, true);
  });

  test("answers as Kubernetes' own components do, and keeps reasons to the log", async () => {
    await using server = await serve();
    server.ready.add("caches", () => {});
    server.ready.add("database", async () => {
      throw new Error("password hunter2 refused");
    });
    assert.deepEqual((await server.ask("/healthz")).body, "ok");
    assert.equal((await server.ask("/livez")).status, 200);
    const ready = await server.ask("/readyz");
    assert.equal(ready.status, 500);
    assert.equal(ready.body, "[+]caches ok\n[-]database failed: reason withheld\nreadyz check failed\n");
    assert.deepEqual(server.warnings, [{ path: "/readyz", check: "database", reason: "password hunter2 refused" }]);
    assert.equal((await server.ask("/readyz?exclude=database")).body, "ok");
    assert.equal((await server.ask("/readyz?exclude=database&verbose")).body, "[+]caches ok\nreadyz check passed\n");
  });

  test("serves metrics where there are some, and knows its paths and methods", async () => {
    const contentType = "text/plain; version=0.0.4";
    await using server = await serve({ contentType, metrics: async () => "up 1\n" });
    assert.deepEqual(await server.ask("/metrics"), { status: 200, body: "up 1\n", type: contentType });
    assert.equal((await server.ask("/metrics", "HEAD")).body, "");
    assert.equal((await server.ask("/healthz", "POST")).status, 405);
    assert.equal((await server.ask("/elsewhere")).status, 404);
    await using bare = await serve();
    assert.equal((await bare.ask("/metrics")).status, 404);
  });

  test("metrics that cannot be read are an error of the server, not of the process", async () => {
    await using server = await serve({
      contentType: "text/plain",
      metrics: async () => {
        throw new Error("collector failed");
      },
    });
    assert.deepEqual((await server.ask("/metrics")).status, 500);
  });
});
