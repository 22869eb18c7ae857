import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { AddressPlan, CONSUMER_LABEL, newObject, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { Pod, SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import type { Home } from "../../home.ts";
import { SiteKey } from "../../identity/index.ts";
import type { PeerRoute } from "../../peer-routes.ts";
import { HeardNetworks } from "../heard-networks.ts";
import { LinkKey } from "../link-key.ts";
import { NetworkController } from "../network-controller.ts";
import { writable } from "../test-api.ts";
import { writeCard } from "./card.ts";
import { CardsBetween } from "./cards-between.ts";
import { HeardIntroductions } from "./heard-introductions.ts";

const RANGE = "10.42.0.0/16";
const [EVIL, OWN] = ["a".repeat(26), "o".repeat(26)] as const;
const MANY = 128;

describe("a consumer that introduces as many made-up sites as it may, each with as many ranges", () => {
  let server: FaultServer;
  let sites: SiteKey[];
  const stop = new AbortController();
  let running: Promise<unknown>;
  const clock = { now: () => performance.now() };
  const heard = new HeardNetworks(clock);
  const introductions = new HeardIntroductions({ id: OWN, accepts: () => true, cardFor: () => undefined, clock });

  const put = (route: PeerRoute, params: Record<string, string>, body: object) =>
    route.handle({ caller: { id: EVIL, publicKey: "" }, params, body, signal: stop.signal });
  const says = (endpoint: string) =>
    put(
      heard.route,
      {},
      {
        network: {
          publicKey: `${"a".repeat(42)}A=`,
          endpoints: [endpoint],
          ranges: ["10.60.0.0/16"],
          names: [{ range: RANGE, called: "240.9.0.0/16" }],
          introduces: sites.map(({ id }) => id),
        },
      },
    );
  const introduces = (site: SiteKey, i: number) => {
    const ranges = Array.from({ length: 16 }, (_, j) => `203.0.${i}.${2 * j}/32`);
    const names = [{ range: RANGE, called: "240.8.0.0/16" }];
    const facts = { publicKey: randomBytes(32).toString("base64"), endpoints: [], ranges, names };
    const card = writeCard(site, OWN, { at: 1, facts });
    return put(introductions.route, { site: site.id }, { card, namespaces: [] });
  };
  const named = () => server.list(AddressPlan).filter(({ spec }) => spec.peer.some(({ called }) => called)).length;
  const until = async (what: string, holds: () => boolean) => {
    for (const deadline = Date.now() + 60_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 20)))
      assert.ok(Date.now() < deadline, what);
  };

  before(async () => {
    server = await FaultServer.start();
    const site = newObject(Site, { metadata: { name: "own" }, spec: { network: { podRanges: [RANGE] } } });
    server.create(Site, site as never);
    const metadata = { name: "guest", namespace: "shop", labels: { [CONSUMER_LABEL]: EVIL } };
    const status = { phase: "Running", podIP: "10.42.0.7", podIPs: [{ ip: "10.42.0.7" }] };
    server.create(Pod, { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [] }, status } as never);
    const client = writable(server);
    const key = await LinkKey.load(client, "fjord-system");
    const means = { clock: systemClock, random: Math.random, logger: silentLogger };
    const caches = new SharedCaches({ ...means, client });
    const home = { ...means, client, caches, namespace: "fjord-system", identity: { id: OWN } } as unknown as Home;
    const never = { onChange: () => () => {} };
    const controller = new NetworkController({
      home,
      own: { object: () => server.list(Site)[0], nodes: () => [], ...never },
      key,
      heard,
      introductions,
      cards: new CardsBetween(),
      carrier: { open: async () => undefined, close: () => {} },
      serviceRanges: [],
      sites: { get: () => undefined, list: () => [], ...never },
      contracts: { of: (id: string) => (id === EVIL ? [{}] : []), ...never } as never,
      twins: { namespacesAt: () => [], sitesOf: () => [], ...never } as never,
      nodes: { get: () => undefined, ...never } as never,
    });
    sites = await Promise.all(Array.from({ length: MANY }, () => SiteKey.generate()));
    const watching = caches.run(stop.signal);
    await caches.waitForSync(stop.signal);
    running = Promise.all([watching, controller.run(stop.signal, stop.signal)]);
  });
  after(async () => {
    stop.abort();
    await running.catch(() => {});
    await server[Symbol.asyncDispose]();
  });

  it("takes a second or two of its provider for that, and next to nothing for what it says of itself afterwards", async () => {
    let before = process.cpuUsage();
    const since = () => {
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await says("first.example:1");
    await until("its own plan", () => named() === 1);
    for (const [i, site] of sites.entries()) await introduces(site, i);
    await until("all have names", () => named() === MANY + 1);
    // With each place compared with all names it took more than a minute.
    assert.ok(since() < 20_000_000, `${since()} µs`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    before = process.cpuUsage();
    for (let i = 0; i < 20; i++) {
      await says(`other-${i}.example:1`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // With all that it has introduced looked at each time it was two at least.
    assert.ok(since() < 1_000_000, `${since()} µs`);
  });
});
