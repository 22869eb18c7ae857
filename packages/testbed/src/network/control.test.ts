import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@fjord/base";
import { controlServer, NetworkClient } from "./control.ts";
import { Network } from "./network.ts";

test("another process drives a network through its socket", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "fjord-control-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const sites = ["a", "b"];
  const network = new Network({ sites, address: () => "127.77.201.1", clock: systemClock, random: Math.random });
  t.after(() => network.close());
  const socket = join(directory, "s");
  const client = new NetworkClient(socket);
  await assert.rejects(client.status(), { code: "TESTBED_NETWORK_CONTROL" });
  const server = controlServer(network).listen(socket);
  await once(server, "listening");
  t.after(() => server.close());

  assert.equal((await client.status())[0]?.bandwidth, Number.POSITIVE_INFINITY);
  await client.shape("a", "b", { latency: 7, bandwidth: 1000 }, { oneWay: true });
  await client.cut("a", "b");
  assert.deepEqual(await client.status(), await network.status());
  assert.deepEqual(
    (await client.status()).map(({ from, latency, bandwidth, state }) => ({ from, latency, bandwidth, state })),
    [
      { from: "a", latency: 7, bandwidth: 1000, state: "cut" },
      { from: "b", latency: 0, bandwidth: Number.POSITIVE_INFINITY, state: "cut" },
    ],
  );
  await client.reset();
  assert.equal((await network.status())[0]?.state, "open");
  const address = await client.expose("a", "b", { host: "127.0.0.1", port: 9 });
  assert.equal(address.host, "127.77.201.1");
  await assert.rejects(client.cut("a", "x"), { code: "TESTBED_NO_SUCH_PATH", message: /no path from a to x/ });
});
