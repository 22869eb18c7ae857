import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { LocalClients } from "@fjord/node/local-clients";
import type { RemoteSites } from "../../remote-site.ts";
import { CarriedParties } from "./carried-parties.ts";
import { noProxyMetrics } from "./proxy-metrics.ts";
import { SharedNamespaces } from "./shared-namespaces.ts";
import { StandIns } from "./stand-ins.ts";
import { TestCaches } from "./test-caches.ts";

// Others may test on the same machine, and all of 127.0.0.0/8 is this machine.
const place = `127.${60 + Math.floor(Math.random() * 20)}.${Math.floor(Math.random() * 250)}`;
const PORT = await freePorts(100);
const slice = (namespace: string, name: string, first: number, addresses: number, ports: number) => ({
  metadata: { name, namespace },
  endpoints: Array.from({ length: addresses }, (_, index) => ({ addresses: [`${place}.${first + index}`] })),
  ports: Array.from({ length: ports }, (_, index) => ({ port: PORT + index })),
});

function standIns(t: TestContext) {
  const here = new TestCaches();
  here.put("addressplans", {
    metadata: { name: "wave" },
    spec: { site: "wave", carrier: "Proxy", own: [], peer: [{ range: "127.89.0.0/24", called: `${place}.0/24` }] },
  } as never);
  const onChange = () => () => {};
  const warnings: string[] = [];
  const missing: number[] = [];
  const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  const home = { caches: here.caches, clock: systemClock, logger };
  const started = new StandIns({
    home,
    sites: { get: () => ({ reachability: { reachable: true } }), onChange } as unknown as RemoteSites,
    shared: new SharedNamespaces({
      home,
      twins: { namespacesAt: () => ["greedy", "shop"], onChange } as never,
      contracts: { of: () => [], onChange } as never,
    }),
    parties: new CarriedParties(home),
    clients: new LocalClients(),
    metrics: { ...noProxyMetrics, withoutStandIn: (_, count) => missing.push(count) },
  });
  const stop = new AbortController();
  const run = started.run(stop.signal);
  t.after(() => {
    stop.abort();
    return run;
  });
  return { here, started, warnings, missing };
}

/** The first of so many that nobody has, at any address, and that nobody is given by chance. */
async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = 10_000 + count * Math.floor(Math.random() * (20_000 / count));
    const servers = Array.from({ length: count }, (_, index) => createServer().listen(first + index, "0.0.0.0"));
    const heard = await Promise.allSettled(servers.map((server) => once(server, "listening")));
    for (const server of servers) if (server.listening) server.close();
    if (heard.every(({ status }) => status === "fulfilled")) return first;
  }
}

async function listens(host: string, port = PORT): Promise<boolean> {
  const socket = createConnection({ host, port });
  try {
    await once(socket, "connect");
    return true;
  } catch (error) {
    // Nobody is led any further by this peer.
    return (error as NodeJS.ErrnoException).code === "ECONNRESET";
  } finally {
    socket.on("error", () => {}).destroy();
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

test("however many endpoints vanish at once, slices are looked through once for all of them", async (t) => {
  const { here } = standIns(t);
  here.put("endpointslices", slice("shop", "many", 1, 20, 5), slice("shop", "stays", 30, 1, 1));
  await until(() => listens(`${place}.30`));
  await until(() => listens(`${place}.20`, PORT + 4));
  here.lists.length = 0;
  here.remove("endpointslices", "many", "shop");
  await until(async () => !(await listens(`${place}.20`, PORT + 4)));
  const lists = here.lists.filter((each) => each === "endpointslices").length;
  assert.ok(lists <= 4, `${lists} times`);
  assert.equal(await listens(`${place}.30`), true);
});

test("a namespace that has more than all places leaves room for others, and that some have none is said once", async (t) => {
  const { here, started, warnings, missing } = standIns(t);
  here.put("endpointslices", slice("greedy", "a", 1, 50, 100), slice("greedy", "b", 51, 50, 100));
  await until(() => started.missing("wave") > 0);
  here.put("endpointslices", slice("shop", "web", 200, 1, 1));
  await until(() => listens(`${place}.200`));
  assert.equal(await listens(`${place}.1`), true);
  assert.equal(await listens(`${place}.100`), false);
  assert.equal(warnings.length, 1);
  for (const name of ["a", "b"]) here.remove("endpointslices", name, "greedy");
  await until(() => started.missing("wave") === 0);
  assert.ok((missing[0] ?? 0) > 0);
  assert.equal(missing.at(-1), 0);
  await until(async () => !(await listens(`${place}.1`)));
  assert.equal(await listens(`${place}.200`), true);
});
