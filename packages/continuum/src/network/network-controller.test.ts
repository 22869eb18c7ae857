import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AddressPlan, CONSUMER_LABEL, Link, newObject, Peering, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { type KubeClient, Pod, Secret, SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import type { Home } from "../home.ts";
import type { NetworkFacts, NetworkWord } from "../protocol.ts";
import type { RemoteSite } from "../remote-site.ts";
import { HeardNetworks } from "./heard-networks.ts";
import { CardsBetween } from "./introductions/cards-between.ts";
import { HeardIntroductions } from "./introductions/heard-introductions.ts";
import { relayAddress } from "./link-address.ts";
import { LinkKey } from "./link-key.ts";
import { NetworkController } from "./network-controller.ts";
import { checkNetworkFacts } from "./network-facts.ts";
import { writable } from "./test-api.ts";
import { ToldNetwork } from "./told-network.ts";

const [HOME, AWAY, HUB] = ["a".repeat(26), "b".repeat(26), "c".repeat(26)];
const RANGE = "10.42.0.0/16";

/** The network part of an agent, on an API that holds whatever it is given. Its peer cannot ask it anything. */
class Agent {
  readonly server: FaultServer;
  readonly id: string;
  readonly heard = new HeardNetworks();
  readonly told: ToldNetwork;
  readonly remote: { report?: RemoteSite["report"]; listener: () => void };
  /** What a third site says, which both have links with; nothing at first. */
  readonly hub: { report?: RemoteSite["report"]; listener: () => void } = { listener: () => {} };
  /** Sites to which its agent carries packets. */
  readonly carried = new Set<string>();
  readonly synced: Promise<void>;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  private constructor(server: FaultServer, id: string, client: KubeClient, key: LinkKey, peer: () => Agent) {
    this.server = server;
    this.id = id;
    const means = { clock: systemClock, random: Math.random, logger: silentLogger };
    const caches = new SharedCaches({ ...means, client });
    const home = { ...means, client, caches, namespace: "fjord-system", identity: { id } } as unknown as Home;
    const own = { object: () => server.list(Site)[0], nodes: () => [], onChange: (_: () => void) => () => {} };
    this.told = new ToldNetwork({ home, own, key });
    const remote: { report?: RemoteSite["report"]; listener: () => void } = { listener: () => {} };
    this.remote = remote;
    const site = {
      get report() {
        return remote.report;
      },
      reachability: { reachable: true },
      refresh: () => {},
      call: async (_method: string, _path: string, word: NetworkWord) => {
        const body = JSON.parse(JSON.stringify(word));
        const caller = { id, publicKey: "" };
        return await peer().heard.route.handle({ caller, params: {}, body, signal: this.#stop.signal });
      },
    } as unknown as RemoteSite;
    const other = id === HOME ? AWAY : HOME;
    const { hub } = this;
    const third = {
      get report() {
        return hub.report;
      },
      reachability: { reachable: false },
    } as unknown as RemoteSite;
    const controller = new NetworkController({
      home,
      own,
      key,
      heard: this.heard,
      introductions: new HeardIntroductions({ id, accepts: () => false, cardFor: () => undefined }),
      cards: new CardsBetween(),
      carrier: {
        open: async (site) => {
          this.carried.add(site);
          return "192.0.2.9:41000";
        },
        close: (site) => void this.carried.delete(site),
      },
      serviceRanges: [],
      sites: {
        get: (asked) => (asked === other ? site : asked === HUB && hub.report !== undefined ? third : undefined),
        list: () => [{ ...site, id: other } as RemoteSite],
        onChange: (listener) => {
          remote.listener = () => listener(other);
          hub.listener = () => listener(HUB);
          return () => {};
        },
      },
      contracts: { of: () => (id === AWAY ? [{}] : []), onChange: () => () => {} } as never,
      twins: {
        namespacesAt: () => (id === HOME ? ["shop"] : []),
        sitesOf: () => [AWAY],
        onChange: () => () => {},
      } as never,
      nodes: {
        get: (name: string) => (name === "wave" ? { site: AWAY } : undefined),
        onChange: () => () => {},
      } as never,
    });
    const { signal } = this.#stop;
    const watching = caches.run(signal);
    this.synced = caches.waitForSync(signal);
    this.#running = this.synced.then(() => Promise.all([watching, controller.run(signal, signal)]));
  }

  static async start(server: FaultServer, id: string, peer: () => Agent): Promise<Agent> {
    const client = writable(server);
    const agent = new Agent(server, id, client, await LinkKey.load(client, "fjord-system"), peer);
    // As an agent that is served only then.
    await agent.synced;
    return agent;
  }

  /** As a heartbeat would: it hears what the other's report has for it. */
  hear(from: Agent): void {
    const network = checkNetworkFacts(JSON.parse(JSON.stringify(from.told.to(this.id) ?? null)));
    const networkHeard = from.heard.digestOf(this.id);
    this.remote.report = {
      id: from.id,
      published: {},
      endpoints: [],
      contracts: [],
      ...(network && { network: network as NetworkFacts }),
      ...(networkHeard !== undefined && { networkHeard }),
    };
    this.remote.listener();
  }

  /** As a third site would say it. */
  hearHub(leadsTo: readonly string[], sights: NonNullable<NetworkFacts["sights"]> = []): void {
    const network = {
      publicKey: `${"Ab+/".repeat(10)}Abc=`,
      endpoints: ["hub.example:51820"],
      ranges: ["10.50.0.0/16"],
      names: [{ range: RANGE, called: "240.9.0.0/16" }],
      leadsTo,
      sights,
    };
    this.hub.report = { id: HUB, published: {}, endpoints: [], contracts: [], network };
    this.hub.listener();
  }

  plan(): AddressPlan | undefined {
    return this.server.list(AddressPlan).find(({ spec }) => spec.site !== HUB);
  }

  link(site: "peer" | "hub" = "peer"): Link | undefined {
    return this.server.list(Link).find(({ spec }) => (spec.site === HUB) === (site === "hub"));
  }

  async kill(): Promise<void> {
    this.#stop.abort();
    await this.#running.catch(() => {});
  }
}

const podOf = (name: string, node: string, ip: string, labels = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "shop", labels },
  spec: { containers: [], nodeName: node },
  status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
});

describe("two agents whose sites have the same range, one of which cannot be asked", () => {
  let home: Agent;
  let away: Agent;
  const servers: FaultServer[] = [];

  before(async () => {
    for (const name of ["home", "away"]) {
      const server = await FaultServer.start();
      servers.push(server);
      server.create(Site, newObject(Site, { metadata: { name }, spec: { network: { podRanges: [RANGE] } } }) as never);
    }
    const [one, other] = servers as [FaultServer, FaultServer];
    one.create(Pod, podOf("native", "own", "10.42.0.7"));
    one.create(Pod, podOf("guest", "wave", "240.1.3.9"));
    other.create(Pod, podOf("guest", "n", "10.42.3.9", { [CONSUMER_LABEL]: HOME }));
    home = await Agent.start(one, HOME, () => away);
    away = await Agent.start(other, AWAY, () => home);
  });
  after(async () => {
    await home.kill();
    await away.kill();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  /** Only the consumer asks: nobody can ask it. */
  const until = async (what: string, holds: () => boolean | undefined) => {
    for (const deadline = Date.now() + 60_000; !holds(); ) {
      assert.ok(
        Date.now() < deadline,
        `${what}: ${JSON.stringify([home.plan(), home.link(), away.plan(), away.link()])}`,
      );
      home.hear(away);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  it("plan nothing as long as no Peering asks for it", async () => {
    home.hear(away);
    assert.deepEqual([home.plan(), away.plan()], [undefined, undefined]);
  });

  it("agree on names and have links, once one does", async () => {
    const peering = newObject(Peering, {
      metadata: { name: "wave" },
      spec: { site: "wave", resources: { cpu: 1 }, link: true },
    });
    home.server.create(Peering, { ...peering, status: { siteId: AWAY } } as never);
    await until("both have links", () => home.link() !== undefined && away.link() !== undefined);
    const ofHome = [{ range: RANGE, called: "240.0.0.0/16" }];
    const ofAway = [{ range: RANGE, called: "240.1.0.0/16" }];
    assert.deepEqual(home.plan()?.spec, { site: AWAY, own: ofHome, peer: ofAway });
    assert.deepEqual(away.plan()?.spec, { site: HOME, own: ofAway, peer: ofHome });
    assert.equal(home.plan()?.status?.conditions?.[0]?.reason, "NamesKnown");
    assert.deepEqual([home.link()?.spec.tcp, [...home.carried]], [{ endpoint: "192.0.2.9:41000" }, [AWAY]]);
    assert.deepEqual([away.link()?.spec.tcp, [...away.carried]], [{ endpoint: "192.0.2.9:41000" }, [HOME]]);
  });

  it("list who may talk: at home both sides exactly, there the guests with all of home", async () => {
    assert.deepEqual(home.link()?.spec.groups, [{ name: "shop", local: ["10.42.0.7"], remote: ["240.1.3.9"] }]);
    assert.deepEqual(away.link()?.spec.groups, [{ name: "shop", local: ["10.42.3.9"], remote: ["240.0.0.0/16"] }]);
    assert.equal(home.link()?.spec.guests, undefined);
    assert.deepEqual(away.link()?.spec.guests, {
      addresses: ["10.42.3.9"],
      names: [{ range: RANGE, called: "240.1.0.0/16" }],
    });
    home.server.create(Pod, podOf("another", "own", "10.42.0.8"));
    await until("a new pod is in the link", () => home.link()?.spec.groups[0]?.local.length === 2);
  });

  it("know each other's key, and keep their own", async () => {
    const keys = [home, away].map(({ server }) => server.list(Secret)[0]?.data?.publicKey ?? "");
    const known = keys.map((key) => Buffer.from(key, "base64").toString());
    assert.deepEqual([away.link()?.spec.publicKey, home.link()?.spec.publicKey], known);
  });

  it("keep all of it when the provider's agent is killed, which is told again what it had heard", async () => {
    const before = [home.plan()?.spec, away.plan()?.spec, home.link()?.spec, away.link()?.spec];
    await away.kill();
    const { server } = away;
    away = await Agent.start(server, AWAY, () => home);
    assert.equal(away.heard.get(HOME), undefined);
    await until("it has heard", () => away.heard.get(HOME)?.facts !== undefined);
    assert.deepEqual([home.plan()?.spec, away.plan()?.spec, home.link()?.spec, away.link()?.spec], before);
  });

  it("reach each other through a hub that the consumer names, and without it when that is taken back", async () => {
    const direct = [home.link()?.spec, away.link()?.spec];
    home.server.create(Site, newObject(Site, { metadata: { name: "hub" }, spec: { id: HUB } }) as never);
    const through = (via: string | undefined) => {
      const [peering] = home.server.list(Peering) as [Peering];
      const { via: _, ...spec } = peering.spec;
      home.server.update(Peering, { ...peering, spec: { ...spec, ...(via && { via }) } } as never);
    };
    through("hub");
    await until("both go through it", () => home.link()?.spec.via === HUB && away.link()?.spec.via === HUB);
    assert.deepEqual([home.link()?.spec.tcp, [...home.carried]], [undefined, []], "the hub alone leads there");
    assert.deepEqual(home.link()?.spec.endpoints, [`${relayAddress(AWAY)}:51820`]);
    assert.deepEqual(away.link()?.spec.endpoints, [`${relayAddress(HOME)}:51820`]);
    assert.deepEqual(home.link()?.spec.groups, direct[0]?.groups);
    through(undefined);
    await until(
      "both are dialled again",
      () => home.link()?.spec.via === undefined && away.link()?.spec.via === undefined,
    );
    assert.deepEqual([home.link()?.spec, away.link()?.spec], direct);
  });

  it("have another way to each other where a third that both have links with says so to both, and not before", async () => {
    const direct = [home.link()?.spec, away.link()?.spec];
    const spec = { site: "hub", resources: { cpu: 1 }, link: true };
    const peering = newObject(Peering, { metadata: { name: "hub" }, spec });
    home.server.create(Peering, { ...peering, status: { siteId: HUB } } as never);
    home.hearHub([AWAY]);
    away.hearHub([]);
    await until("both have links with it", () => home.link("hub") !== undefined && away.link("hub") !== undefined);
    assert.deepEqual([home.link()?.spec.fallback, away.link()?.spec.fallback], [undefined, undefined]);
    away.hearHub([HOME]);
    await until(
      "both have it",
      () => home.link()?.spec.fallback?.site === HUB && away.link()?.spec.fallback?.site === HUB,
    );
    assert.equal(home.link()?.spec.fallback?.endpoint, `${relayAddress(AWAY)}:51820`);
    assert.equal(away.link()?.spec.fallback?.endpoint, `${relayAddress(HOME)}:51820`);
    home.hearHub([AWAY], [{ site: AWAY, endpoint: "203.0.113.9:40000" }]);
    await until("it says where it sees the other", () => home.link()?.spec.fallback?.seenAt === "203.0.113.9:40000");
    home.hearHub([AWAY]);
    await until("it sees it no longer", () => home.link()?.spec.fallback?.seenAt === undefined);
    const { fallback: _, ...rest } = home.link()?.spec ?? {};
    assert.deepEqual(rest, direct[0], "and it is the same link");
    home.hearHub([]);
    await until(
      "it is taken back",
      () => home.link()?.spec.fallback === undefined && away.link()?.spec.fallback === undefined,
    );
    assert.deepEqual([home.link()?.spec, away.link()?.spec], direct);
    home.server.delete(Peering, { name: "hub" });
    home.hub.listener();
    await until("its link is gone", () => home.link("hub") === undefined);
  });

  it("have nothing of it left when it is no longer asked for", async () => {
    const [peering] = home.server.list(Peering);
    if (peering !== undefined)
      home.server.update(Peering, { ...peering, spec: { ...peering.spec, link: false } } as never);
    await until("all is gone", () =>
      [home.plan(), home.link(), away.plan(), away.link()].every((object) => object === undefined),
    );
  });
});
