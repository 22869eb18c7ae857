import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AddressPlan, newObject, Peering, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import type { Home } from "../home.ts";
import type { RemoteSite } from "../remote-site.ts";
import { HeardNetworks } from "./heard-networks.ts";
import { CardsBetween } from "./introductions/cards-between.ts";
import { HeardIntroductions } from "./introductions/heard-introductions.ts";
import { LinkKey } from "./link-key.ts";
import { NetworkController } from "./network-controller.ts";
import { writable } from "./test-api.ts";

const RANGE = "10.42.0.0/16";
/** A provider that takes what it is told, and never answers; and one that does not mean harm. */
const [EVIL, HONEST] = ["a".repeat(26), "h".repeat(26)] as const;
const OWN = "o".repeat(26);

describe("a consumer, one of whose providers never answers what it is told", () => {
  let server: FaultServer;
  const stop = new AbortController();
  let running: Promise<unknown>;
  let listener: (id: string) => void = () => {};
  const told: string[] = [];
  const reports = new Map<string, RemoteSite["report"]>();
  const remotes = [EVIL, HONEST].map(
    (id) =>
      ({
        id,
        get report() {
          return reports.get(id);
        },
        reachability: { reachable: true },
        refresh: () => {},
        call: async () => {
          told.push(id);
          if (id === EVIL) await new Promise(() => {});
        },
      }) as unknown as RemoteSite,
  );

  const says = (id: string, letter: string, range: string) => {
    const network = {
      publicKey: `${letter.repeat(42)}A=`,
      endpoints: [],
      ranges: [range],
      names: [{ range: RANGE, called: "240.9.0.0/16" }],
    };
    reports.set(id, { id, published: {}, endpoints: [], contracts: [], network });
    listener(id);
  };
  const planOf = (id: string) => server.list(AddressPlan).find(({ spec }) => spec.site === id)?.spec;
  const until = async (what: string, holds: () => boolean) => {
    for (const deadline = Date.now() + 20_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 10)))
      assert.ok(Date.now() < deadline, what);
  };

  before(async () => {
    server = await FaultServer.start();
    const site = newObject(Site, { metadata: { name: "own" }, spec: { network: { podRanges: [RANGE] } } });
    server.create(Site, site as never);
    for (const id of [EVIL, HONEST]) {
      const spec = { site: id, resources: { cpu: 1 }, link: true };
      const peering = newObject(Peering, { metadata: { name: id }, spec });
      server.create(Peering, { ...peering, status: { siteId: id } } as never);
    }
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
      heard: new HeardNetworks(),
      introductions: new HeardIntroductions({ id: OWN, accepts: () => false, cardFor: () => undefined }),
      cards: new CardsBetween(),
      carrier: { open: async () => undefined, close: () => {} },
      serviceRanges: [],
      sites: {
        get: (id) => remotes.find((remote) => remote.id === id),
        list: () => remotes,
        onChange: (added) => {
          listener = added;
          return () => {};
        },
      },
      contracts: { of: () => [], ...never } as never,
      twins: { namespacesAt: () => [], sitesOf: () => [], ...never } as never,
      nodes: { get: () => undefined, ...never } as never,
    });
    const watching = caches.run(stop.signal);
    await caches.waitForSync(stop.signal);
    running = Promise.all([watching, controller.run(stop.signal, stop.signal)]);
    await until("both have plans", () => planOf(EVIL) !== undefined && planOf(HONEST) !== undefined);
  });
  after(async () => {
    stop.abort();
    await running.catch(() => {});
    await server[Symbol.asyncDispose]();
  });

  it("goes on with the other: its plan follows, and it is told", async () => {
    says(EVIL, "a", "10.60.0.0/16");
    await until("it was told", () => told.includes(EVIL));
    says(HONEST, "h", "10.50.0.0/16");
    await until("the other's range has a name", () => planOf(HONEST)?.peer[0]?.called !== undefined);
    await until("the other was told", () => told.includes(HONEST));
    says(HONEST, "h", "10.51.0.0/16");
    await until("what it says next is heard", () => planOf(HONEST)?.peer[0]?.range === "10.51.0.0/16");
  });
});
