import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FjordError, silentLogger, systemClock } from "@fjord/base";
import { NoSuchPathError } from "../errors.ts";
import { controlServer, NetworkClient } from "./control.ts";
import { Network } from "./network.ts";
import { NetworkSettings } from "./settings.ts";

test("another process drives a network through its socket", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "fjord-control-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const sites = ["a", "b"];
  const network = new Network({ sites, address: () => "127.77.201.1", clock: systemClock, random: Math.random });
  t.after(() => network.close());
  const socket = join(directory, "s");
  const client = new NetworkClient(socket);
  await assert.rejects(client.status(), {
    code: "TESTBED_NETWORK_CONTROL",
    message: /^cannot look at the network between sites through /,
  });
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
  await client.unexpose("a", "b", { host: "127.0.0.1", port: 9 });
  assert.deepEqual((await network.status())[0]?.exposed, []);
  await assert.rejects(client.cut("a", "x"), (error) => {
    assert.ok(error instanceof NoSuchPathError && error instanceof FjordError, "it is what the network threw");
    assert.equal((error.constructor as typeof NoSuchPathError).advice, NoSuchPathError.advice);
    assert.deepEqual(
      [error.code, error.message.slice(0, 41)],
      ["TESTBED_NO_SUCH_PATH", "the test bed has no path from a to x; its"],
    );
    return true;
  });
});

test("a network that is started again is as it was left", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "fjord-settings-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const settings = new NetworkSettings(directory);
  const make = () => new Network({ sites: ["a", "b", "c"], address: () => "127.77.202.1", ...noise });
  const before = make();
  await settings.restore(before, silentLogger);
  await before.shape("a", "b", { latency: 7, bandwidth: 1000 }, { oneWay: true });
  await before.cut("b", "c", { oneWay: true });
  await before.cut("a", "c", { reset: true });
  const server = createServer((socket) => socket.end("up")).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const to of ["b", "c"]) await before.expose("a", to, { host: "127.0.0.1", port });
  await Promise.all([settings.save(before), settings.save(before)]);
  const left = await before.status();
  await before.close();

  const after = make();
  t.after(() => after.close());
  await settings.restore(after, silentLogger);
  assert.deepEqual(await after.status(), left);
  assert.deepEqual(await readdir(directory), ["network.json"]);
  await after.heal("a", "c");
  const { address } = left[1]?.exposed[0] ?? assert.fail("nothing is exposed");
  const [greeting] = await once(connect(address), "data");
  assert.equal(String(greeting), "up");
});

const noise = { clock: systemClock, random: Math.random };
