import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, describe, test } from "node:test";
import { ConnectionError } from "@fjord/kube";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { PeerRoute } from "../../peer-routes.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { TestSites } from "../proxy/test-tenants.ts";
import { PeerServer } from "../server/peer-server.ts";
import { siteRoute } from "../server/site-route.ts";
import { means, siteObject, testSite } from "../server/test-sites.ts";
import { ParkedConnections } from "../tunnel/parked-connections.ts";
import { LiveRemoteSites, type LiveRemoteSitesOptions } from "./live-remote-sites.ts";

const [provider, consumer, other] = await Promise.all([testSite(), testSite(), testSite()]);
const stop = new AbortController();
const runs: Promise<void>[] = [];
after(async () => {
  stop.abort();
  await Promise.all(runs);
});

let name = "lively-wave";
let asked = 0;
let known = true;
const routes: PeerRoute[] = [
  siteRoute({
    id: provider.id,
    published: () => {
      asked++;
      return { name };
    },
    endpoints: () => [],
    contractsOf: () => [],
  }),
  {
    method: "POST",
    path: "/contracts",
    access: "peer",
    handle: async ({ body }) => {
      if (body === undefined)
        throw new PeerRefused({ code: "AmountRefused", message: "no", available: { cpu: "1" } }, 409);
      return { got: body };
    },
  },
];

async function serve(site = provider, own: readonly PeerRoute[] = routes): Promise<string> {
  const server = new PeerServer({
    ...means,
    tls: site.tls,
    siteOf: (id) => (known ? siteObject(id) : undefined),
    routes: own,
    rawRoutes: [
      { prefix: "/fjord/v1/garbage", access: "peer", handle: (_, response) => void response.end("<html>") },
      { prefix: "/fjord/v1/huge", access: "peer", handle: (_, response) => void response.end("x".repeat(1 << 20)) },
    ],
    host: "127.0.0.1",
    port: 0,
  });
  runs.push(server.run(stop.signal));
  return `https://127.0.0.1:${(await server.listen())?.port}`;
}
const endpoint = await serve();

function consume(endpoints: string[], options: Partial<LiveRemoteSitesOptions> = {}) {
  const sites = new TestSites();
  sites.set(siteObject(provider.id, { endpoints }));
  const timing = { beatMs: 50, timeoutMs: 500, retryMs: 50 };
  const remotes = new LiveRemoteSites({ ...means, sites, tls: consumer.tls, timing, ...options });
  runs.push(remotes.run(stop.signal));
  return { sites, remotes, remote: remotes.get(provider.id) as RemoteSite };
}

/** Resolves when the condition holds; it is looked at on each change. */
function until(remote: RemoteSite, condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!condition()) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = remote.onChange(look);
    look();
  });
}

describe("a remote site", () => {
  test("is asked until it answers, and its newest report is told", async () => {
    const { remote } = consume([endpoint]);
    assert.equal(remote.reachability.reachable, false);
    await until(remote, () => remote.reachability.reachable);
    assert.equal(remote.reachability.reason, "Dialled");
    assert.equal(remote.report?.published.name, "lively-wave");
    name = "calm-harbour";
    await until(remote, () => remote.report?.published.name === "calm-harbour");
  });

  test("tells of nothing while nothing changes", async () => {
    const { remote } = consume([endpoint]);
    await until(remote, () => remote.reachability.reachable);
    let told = 0;
    remote.onChange(() => told++);
    const before = asked;
    const heard = remote.reachability.lastHeard ?? 0;
    while (asked < before + 4) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(told, 0);
    assert.ok((remote.reachability.lastHeard ?? 0) > heard);
  });

  test("answers calls, or refuses in its own words", async () => {
    const { remote } = consume([endpoint]);
    assert.deepEqual(await remote.call("POST", "/contracts", { a: 1 }), { got: { a: 1 } });
    await assert.rejects(remote.call("POST", "/contracts"), (error) => {
      assert.ok(error instanceof PeerRefused);
      assert.deepEqual(error.refusal, { code: "AmountRefused", message: "no", available: { cpu: "1" } });
      return error.statusCode === 409;
    });
    await assert.rejects(remote.call("GET", "/nothing"), (error) => (error as PeerRefused).refusal.code === "NotFound");
    await assert.rejects(remote.call("GET", "/garbage"), ConnectionError);
    await assert.rejects(remote.call("GET", "/huge"), ConnectionError);
  });

  test("is dialled at the first endpoint that works", async () => {
    const { remote } = consume(["https://127.0.0.1:1", endpoint]);
    await until(remote, () => remote.reachability.reachable);
  });

  test("is away where nobody listens, and calls fail", async () => {
    const { remote, sites } = consume(["https://127.0.0.1:1"]);
    await until(remote, () => remote.reachability.message.includes("ECONNREFUSED"));
    assert.equal(remote.reachability.reason, "ConnectionFailed");
    await assert.rejects(remote.call("GET", "/site"), ConnectionError);
    sites.set(siteObject(provider.id, { endpoints: [endpoint] }));
    await until(remote, () => remote.reachability.reachable);
  });

  test("is not another one that answers in its place", async () => {
    const { remote } = consume([await serve(other)]);
    await until(remote, () => remote.reachability.reason === "WrongKey");
    assert.equal(remote.reachability.reachable, false);
  });

  test("without an endpoint is away until it dials", async () => {
    // As long as agents wait for one, which is longer than a question is.
    const parked = new ParkedConnections({ clock: means.clock });
    const { remote } = consume([], { parked });
    await until(remote, () => remote.reachability.message !== "it has not been asked yet");
    assert.equal(remote.reachability.reason, "NoEndpoint");
    assert.match(remote.reachability.message, /has no endpoint and has not dialled out to this one/);
  });

  test("that does not know us says so", async () => {
    const { remote } = consume([endpoint]);
    await until(remote, () => remote.reachability.reachable);
    known = false;
    await until(remote, () => !remote.reachability.reachable);
    assert.match(remote.reachability.message, /pair them first/);
    assert.equal(remote.reachability.reason, "NotPaired");
    known = true;
    await until(remote, () => remote.reachability.reachable);
  });

  test("has forgotten us only once it has said nothing else for a minute", async () => {
    let late = 0;
    const clock = { ...means.clock, now: () => means.clock.now() + late };
    const { remote, sites } = consume([endpoint], { clock });
    const reason = (wanted: string) => until(remote, () => remote.reachability.reason === wanted);
    await reason("Dialled");
    known = false;
    await reason("NotPaired");
    late += 55_000;
    assert.equal(remote.reachability.forgotten, undefined);
    // Whatever else happens in between, the minute begins anew.
    sites.set(siteObject(provider.id, { endpoints: ["https://127.0.0.1:1"] }));
    await reason("ConnectionFailed");
    sites.set(siteObject(provider.id, { endpoints: [endpoint] }));
    await reason("NotPaired");
    assert.equal(remote.reachability.forgotten, undefined);
    late += 61_000;
    await until(remote, () => remote.reachability.forgotten === true);
    known = true;
    await reason("Dialled");
    assert.equal(remote.reachability.forgotten, undefined);
  });

  test("is asked seldom while nobody uses it, and at once when somebody does", async () => {
    const { remote, remotes } = consume([endpoint], { used: () => false });
    await until(remote, () => remote.reachability.reachable);
    name = "quiet-cove";
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.notEqual(remote.report?.published.name, "quiet-cove");
    const ended = remotes.use(provider.id);
    await until(remote, () => remote.report?.published.name === "quiet-cove");
    name = "loud-bay";
    await until(remote, () => remote.report?.published.name === "loud-bay");
    ended();
    name = "last-word";
    remote.refresh();
    await until(remote, () => remote.report?.published.name === "last-word");
  });

  test("that takes long to shake hands is reached all the same", async () => {
    await using relay = await slowRelay(endpoint, (chunk) => (chunk === 0 ? 3_500 : 0));
    const { remote } = consume([relay.endpoint]);
    await until(remote, () => remote.reachability.reachable);
    assert.ok(relay.connections > 1, "the first were given up");
  });

  test("that answers slowly is slow, and not away", async () => {
    let delayMs = 0;
    await using relay = await slowRelay(endpoint, () => delayMs);
    // Long times: what a busy machine adds to each is little beside them.
    const { remote } = consume([relay.endpoint], { timing: { beatMs: 50, timeoutMs: 1_000, retryMs: 50 } });
    await until(remote, () => remote.reachability.reachable);
    const seen = new Set<boolean>();
    remote.onChange(() => seen.add(remote.reachability.reachable));
    delayMs = 1_300;
    await until(remote, () => /slow/.test(remote.reachability.message));
    name = "slow-sound";
    await until(remote, () => remote.report?.published.name === "slow-sound");
    assert.deepEqual([...seen], [true]);
    delayMs = 0;
    await until(remote, () => remote.reachability.message === "it answers");
  });

  test("of another version is understood as far as it goes", async () => {
    // As the first agents said it, and as a later one may.
    const older = { id: provider.id, published: { name: "old-oak" }, endpoints: [], contracts: [] };
    const contract = { id: "c-1", phase: "Active", standing: "Open", tenantReady: true };
    const newer = {
      ...older,
      published: { name: "new-moon", version: "0.2.0", moons: 2 },
      contracts: [{ ...contract, greenest: true }],
      weather: { wind: "fair" },
    };
    let answer: unknown = older;
    const handle = async () => answer;
    const other = await serve(provider, [{ method: "GET", path: "/site", access: "peer", handle }]);
    const { remote } = consume([other]);
    await until(remote, () => remote.report?.published.name === "old-oak");
    answer = newer;
    await until(remote, () => remote.report?.published.name === "new-moon");
    assert.deepEqual(remote.report, {
      ...older,
      published: { name: "new-moon", version: "0.2.0" },
      contracts: [contract],
    });
    assert.equal(remote.reachability.reachable, true);
  });

  test("goes with its Site object", async () => {
    const { remotes, remote, sites } = consume([endpoint]);
    await until(remote, () => remote.reachability.reachable);
    const told: string[] = [];
    remotes.onChange((id) => told.push(id));
    sites.delete(provider.id);
    assert.equal(remotes.get(provider.id), undefined);
    assert.deepEqual(told, [provider.id]);
    await assert.rejects(remote.call("GET", "/site"));
  });
});

/** A way to a server on which each piece of its answers takes as long as `delay` says. */
async function slowRelay(target: string, delay: (chunk: number) => number) {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    connections++;
    const far = connect(Number(new URL(target).port), "127.0.0.1");
    let chunk = 0;
    let due = 0;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => [near, far].forEach((each) => void each.destroy()));
    }
    near.pipe(far);
    far.on("data", (data) => {
      due = Math.max(due, Date.now() + delay(chunk++));
      setTimeout(() => near.writable && near.write(data), due - Date.now()).unref();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
