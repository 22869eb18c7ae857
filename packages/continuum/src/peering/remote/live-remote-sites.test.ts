import assert from "node:assert/strict";
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

async function serve(site = provider): Promise<string> {
  const server = new PeerServer({
    ...means,
    tls: site.tls,
    siteOf: (id) => (known ? siteObject(id) : undefined),
    routes,
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
    const parked = new ParkedConnections({ clock: means.clock, waitMs: 20 });
    const { remote } = consume([], { parked });
    await until(remote, () => remote.reachability.reason === "NoEndpoint");
  });

  test("that does not know us says so", async () => {
    const { remote } = consume([endpoint]);
    await until(remote, () => remote.reachability.reachable);
    known = false;
    await until(remote, () => !remote.reachability.reachable);
    assert.match(remote.reachability.message, /pair them first/);
    known = true;
    await until(remote, () => remote.reachability.reachable);
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
