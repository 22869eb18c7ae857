import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { AddressPlan, CONSUMER_LABEL, Link, newObject, Peering, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { getCondition, type KubeClient, Pod, SharedCaches, setCondition } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import type { Home } from "../../home.ts";
import { SiteKey } from "../../identity/index.ts";
import { checkSiteReport } from "../../peering/index.ts";
import type { IntroductionWord } from "../../protocol.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { HeardNetworks } from "../heard-networks.ts";
import { LinkKey } from "../link-key.ts";
import { NetworkController } from "../network-controller.ts";
import { takesPart } from "../own-network.ts";
import { writable } from "../test-api.ts";
import { ToldNetwork } from "../told-network.ts";
import { CardsBetween } from "./cards-between.ts";
import { HeardIntroductions } from "./heard-introductions.ts";
import { IntroductionController } from "./introduction-controller.ts";
import { OwnCards } from "./own-cards.ts";

const RANGE = "10.42.0.0/16";

/** The network part of an agent, on an API that holds whatever it is given. Consumers ask providers, which cannot ask them. */
class Agent {
  readonly server: FaultServer;
  readonly key: SiteKey;
  readonly heard = new HeardNetworks();
  readonly told: ToldNetwork;
  readonly introductions: HeardIntroductions;
  readonly synced: Promise<void>;
  /** What an evil carrier makes of what it carries. */
  spoil: (word: IntroductionWord) => unknown = (word) => word;
  /** How often it has told a provider of another one. */
  tellings = 0;
  /** As provider: what it says to have heard is another thing each time. */
  isForgetful = false;
  readonly #listeners = new Set<(id: string) => void>();
  readonly #reports = new Map<string, RemoteSite["report"]>();
  /** By id; an agent that was killed has another one in its place. */
  readonly #providers: ReadonlyMap<string, () => Agent>;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  private constructor(
    server: FaultServer,
    key: SiteKey,
    client: KubeClient,
    linkKey: LinkKey,
    providers: ReadonlyMap<string, () => Agent>,
    contracts: () => readonly string[],
  ) {
    this.server = server;
    this.key = key;
    this.#providers = providers;
    const means = { clock: systemClock, random: Math.random, logger: silentLogger };
    const caches = new SharedCaches({ ...means, client });
    const home = { ...means, client, caches, namespace: "fjord-system", identity: key } as unknown as Home;
    const own = { object: () => server.list(Site)[0], nodes: () => [], onChange: (_: () => void) => () => {} };
    this.told = new ToldNetwork({ home, own, key: linkKey });
    const cards = new OwnCards({ home, told: this.told });
    this.introductions = new HeardIntroductions({
      id: key.id,
      accepts: () => takesPart(own.object()),
      cardFor: (site, consumer) => cards.for(site, consumer),
    });
    const between = new CardsBetween();
    const remoteOf = (id: string, provider: () => Agent): RemoteSite => {
      const report = () => this.#reports.get(id);
      return {
        id,
        get report() {
          return report();
        },
        reachability: { reachable: true },
        refresh: () => {},
        call: async (_method: string, path: string, word: unknown) => {
          const site = /^\/introductions\/(.*)$/.exec(path)?.[1];
          const said = site === undefined ? word : this.spoil(word as IntroductionWord);
          if (site !== undefined) this.tellings += 1;
          const { route } = site === undefined ? provider().heard : provider().introductions;
          return await route.handle({
            caller: { id: key.id, publicKey: key.publicKey },
            params: site === undefined ? {} : { site },
            body: JSON.parse(JSON.stringify(said)),
            signal: this.#stop.signal,
          });
        },
      } as unknown as RemoteSite;
    };
    const remotes = new Map([...providers].map(([id, provider]) => [id, remoteOf(id, provider)]));
    const sites = {
      get: (id: string) => remotes.get(id),
      list: () => [...remotes.values()],
      onChange: (listener: (id: string) => void) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    const ids = [...remotes.keys()];
    const twins = {
      namespacesAt: (id: string) => (ids.includes(id) ? ["shop"] : []),
      sitesOf: () => ids,
      twinOf: () => `shop-${key.id.slice(0, 5)}`,
      onChange: () => () => {},
    } as never;
    const nodes = {
      get: (name: string) => (ids.includes(name) ? { site: name } : undefined),
      onChange: () => () => {},
    } as never;
    const controllers = [
      new NetworkController({
        home,
        own,
        key: linkKey,
        heard: this.heard,
        introductions: this.introductions,
        cards: between,
        carrier: { open: async () => undefined, close: () => {} } as never,
        serviceRanges: [],
        sites,
        contracts: { of: (id: string) => (contracts().includes(id) ? [{}] : []), onChange: () => () => {} } as never,
        twins,
        nodes,
      }),
      new IntroductionController({ home, sites, twins, nodes, cards: between }),
    ];
    const { signal } = this.#stop;
    const watching = caches.run(signal);
    this.synced = caches.waitForSync(signal);
    this.#running = this.synced.then(() =>
      Promise.all([watching, ...controllers.map((controller) => controller.run(signal, signal))]),
    );
  }

  static async start(
    server: FaultServer,
    key: SiteKey,
    providers: ReadonlyMap<string, () => Agent> = new Map(),
    contracts: () => readonly string[] = () => [],
  ): Promise<Agent> {
    const client = writable(server);
    const agent = new Agent(server, key, client, await LinkKey.load(client, "fjord-system"), providers, contracts);
    await agent.synced;
    return agent;
  }

  /** As heartbeats would: what each provider's report has for it. */
  hear(): void {
    for (const provider of this.#providers.values()) {
      const id = this.key.id;
      const { key, told, heard, introductions, isForgetful } = provider();
      const tokens = Object.entries(introductions.tokensFor(id) ?? {});
      const said = tokens.map(([site, token]) => [site, isForgetful ? randomBytes(16).toString("base64url") : token]);
      const report = {
        id: key.id,
        contracts: [],
        network: told.to(id),
        networkHeard: heard.digestOf(id),
        introductions: Object.fromEntries(said),
      };
      this.#reports.set(key.id, checkSiteReport(JSON.parse(JSON.stringify(report)), key.id));
      for (const listener of this.#listeners) listener(key.id);
    }
  }

  plan(peer: { key: SiteKey }): AddressPlan | undefined {
    return this.server.list(AddressPlan).find(({ spec }) => spec.site === peer.key.id);
  }

  link(peer: { key: SiteKey }): Link | undefined {
    return this.server.list(Link).find(({ spec }) => spec.site === peer.key.id);
  }

  async kill(): Promise<void> {
    this.#stop.abort();
    await this.#running.catch(() => {});
  }
}

const podOf = (name: string, node: string, ip: string, namespace: string, labels = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, labels },
  spec: { containers: [], nodeName: node },
  status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
});

describe("two consumers of the same two providers, which have never heard of each other", () => {
  const servers: FaultServer[] = [];
  const agents: Agent[] = [];
  const consumers: string[] = [];
  let one: Agent;
  let other: Agent;
  let first: Agent;
  let second: Agent;

  const serverOf = async (name: string) => {
    const server = await FaultServer.start();
    servers.push(server);
    server.create(Site, newObject(Site, { metadata: { name }, spec: { network: { podRanges: [RANGE] } } }) as never);
    return server;
  };
  const twinOf = (consumer: Agent) => `shop-${consumer.key.id.slice(0, 5)}`;
  const peer = (consumer: Agent, provider: Agent) => {
    const { id } = provider.key;
    const spec = { site: id, resources: { cpu: 1 }, link: true };
    const peering = newObject(Peering, { metadata: { name: id }, spec });
    consumer.server.create(Peering, { ...peering, status: { siteId: id } } as never);
  };
  /** A pod of the consumer at a provider: `ip` there, and called so at home once that is known. */
  const guest = (consumer: Agent, provider: Agent, ip: string) => {
    const labels = { [CONSUMER_LABEL]: consumer.key.id };
    provider.server.create(Pod, podOf(`g-${consumer.key.id.slice(0, 5)}-${ip}`, "n", ip, twinOf(consumer), labels));
    const called = consumer.plan(provider)?.spec.peer[0]?.called ?? "";
    const shown = [...called.split(".").slice(0, 2), ...ip.split(".").slice(2)].join(".");
    consumer.server.create(Pod, podOf(`p-${ip}`, provider.key.id, shown, "shop"));
  };
  const until = async (what: string, holds: () => boolean | undefined) => {
    for (const deadline = Date.now() + 60_000; !holds(); ) {
      if (Date.now() > deadline)
        assert.fail(
          `${what}: ${JSON.stringify([one, other].flatMap(({ server }) => [...server.list(AddressPlan), ...server.list(Link)]).map(({ kind, spec, status }) => ({ kind, spec, status })))}`,
        );
      for (const agent of [first, second]) agent?.hear();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const groups = (at: Agent, peer: Agent) => at.link(peer)?.spec.groups ?? [];
  const calledAt = (at: Agent, peer: Agent, ip: string) =>
    [...(at.plan(peer)?.spec.peer[0]?.called ?? "").split(".").slice(0, 2), ...ip.split(".").slice(2)].join(".");

  before(async () => {
    const start = async (name: string, ...more: [ReadonlyMap<string, () => Agent>?, (() => readonly string[])?]) => {
      const agent = await Agent.start(await serverOf(name), await SiteKey.generate(), ...more);
      agents.push(agent);
      return agent;
    };
    one = await start("one", undefined, () => consumers);
    other = await start("other", undefined, () => consumers);
    const providers = new Map([
      [one.key.id, () => one],
      [other.key.id, () => other],
    ]);
    first = await start("first", providers);
    second = await start("second", providers);
    consumers.push(first.key.id, second.key.id);
  });
  after(async () => {
    for (const agent of agents) await agent.kill();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  it("are introduced by the first, each with names of its own choice and with this one's guests", async () => {
    for (const provider of [one, other]) peer(first, provider);
    await until("links with home", () => [one, other].every((provider) => first.link(provider) !== undefined));
    guest(first, one, "10.42.0.1");
    guest(first, other, "10.42.0.2");
    await until("both have groups", () => groups(one, other).length === 1 && groups(other, one).length === 1);
    assert.deepEqual(groups(one, other), [
      { name: twinOf(first), local: ["10.42.0.1"], remote: [calledAt(one, other, "10.42.0.2")] },
    ]);
    const { spec } = one.plan(other) ?? {};
    assert.deepEqual([spec?.introducedBy, spec?.scope], [[first.key.id], "Guests"]);
    assert.equal(spec?.own[0]?.called, other.plan(one)?.spec.peer[0]?.called);
    assert.equal(one.told.to(other.key.id), undefined, "nobody is told that there is a link of their own");
  });

  it("tell it what they call each other, by which it shows pods to Services there", async () => {
    await until("it knows", () => first.plan(one)?.spec.others?.[0]?.names.length === 1);
    assert.deepEqual(first.plan(one)?.spec.others, [
      { site: other.key.id, names: [{ range: RANGE, called: one.plan(other)?.spec.peer[0]?.called }] },
    ]);
    assert.deepEqual(first.link(one)?.spec.relayTo, [other.key.id]);
    await until("it leads them", () => one.link(other)?.spec.fallback?.site === first.key.id);
  });

  it("are told nothing again while nothing changes", async () => {
    let before = -1;
    await until("all is said", () => {
      const quiet = before === first.tellings;
      before = first.tellings;
      return quiet;
    });
    for (let i = 0; i < 20; i++) {
      first.hear();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(first.tellings, before);
  });

  it("are told no more often than now and then, though one of them never says that it has heard it", async () => {
    const before = first.tellings;
    one.isForgetful = true;
    for (let i = 0; i < 100; i++) {
      first.hear();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    one.isForgetful = false;
    const more = first.tellings - before;
    assert.ok(more > 0 && more < 40, `${more} times`);
  });

  it("have one link for both consumers, and no group of it has guests of two", async () => {
    for (const provider of [one, other]) peer(second, provider);
    await until("links with home", () => [one, other].every((provider) => second.link(provider) !== undefined));
    guest(second, one, "10.42.0.3");
    guest(second, other, "10.42.0.4");
    await until("groups of both", () => groups(one, other).length === 2 && groups(other, one).length === 2);
    const sorted = [first, second].map((consumer, index) => ({
      name: twinOf(consumer),
      local: [index === 0 ? "10.42.0.1" : "10.42.0.3"],
      remote: [calledAt(one, other, index === 0 ? "10.42.0.2" : "10.42.0.4")],
    }));
    assert.deepEqual(
      new Set(groups(one, other).map((group) => JSON.stringify(group))),
      new Set(sorted.map((group) => JSON.stringify(group))),
    );
    assert.equal(one.server.list(Link).filter(({ spec }) => spec.site === other.key.id).length, 1);
    assert.deepEqual(one.plan(other)?.spec.introducedBy, [first.key.id, second.key.id].sort());
  });

  it("believe neither a card that was changed, nor an old one, where an honest consumer brings the new", async () => {
    // Of who has none yet to change, what it says of pods counts: the first has brought the card.
    await until("the second brings cards", () => {
      return one.introductions.of(other.key.id).get(second.key.id)?.card !== undefined;
    });
    const [before, link] = [one.plan(other)?.spec, one.link(other)?.spec];
    second.spoil = (word) => ({
      ...word,
      ...(word.card && { card: { ...word.card, text: word.card.text.replace(RANGE, "10.99.0.0/16") } }),
    });
    second.server.create(Pod, podOf("more", other.key.id, calledAt(second, other, "10.42.0.5"), "shop"));
    const stale: IntroductionWord[] = [];
    for (let i = 0; i < 20; i++) {
      second.hear();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.deepEqual(one.plan(other)?.spec, before);
    assert.deepEqual(one.link(other)?.spec, link);
    // From now on it says what it has said before, whatever it hears.
    second.spoil = (word) => {
      stale.push(word);
      return { ...word, card: stale[0]?.card };
    };
    const [site] = other.server.list(Site) as [Site];
    const network = { ...site.spec.network, endpoints: ["192.0.2.9:51820"] };
    other.server.update(Site, { ...site, spec: { ...site.spec, network } } as never);
    await until("the new endpoint is known", () => one.link(other)?.spec.endpoints[0] === "192.0.2.9:51820");
    for (let i = 0; i < 20; i++) {
      for (const agent of [first, second]) agent.hear();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.deepEqual(one.link(other)?.spec.endpoints, ["192.0.2.9:51820"]);
    assert.ok(stale.length > 0);
    second.spoil = (word) => word;
  });

  it("keep all of it when a provider's agent is killed, which hears it again", async () => {
    const before = [one.plan(other)?.spec, one.link(other)?.spec] as const;
    const { server, key } = one;
    // What they could not say or were refused they say again by themselves.
    for (const consumer of [first, second])
      consumer.spoil = () => {
        throw new Error("nobody is there");
      };
    await one.kill();
    const plan = one.plan(other) as AddressPlan;
    const incomplete = { type: "LinkComplete", status: "False", reason: "TooMany", message: "" } as const;
    const { conditions } = setCondition(plan.status?.conditions, incomplete, 0);
    server.update(AddressPlan, { ...plan, status: { ...plan.status, conditions } } as never);
    one = await Agent.start(server, key, undefined, () => consumers);
    agents.push(one);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(one.introductions.of(other.key.id).size, 0, "nobody has said anything to it yet");
    assert.deepEqual([one.plan(other)?.spec, one.link(other)?.spec], before);
    const complete = () => getCondition(one.plan(other)?.status?.conditions ?? [], "LinkComplete")?.status;
    assert.equal(complete(), "False", "what there was no room for has not been said again");
    for (const consumer of [first, second]) consumer.spoil = (word) => word;
    await until("it has heard", () => one.introductions.of(other.key.id).size === 2 && complete() === "True");
    // A guest that its consumer says nothing of any more is no reason to change anything else.
    assert.deepEqual(one.plan(other)?.spec, before[0]);
    assert.deepEqual(one.link(other)?.spec.publicKey, before[1]?.publicKey);
  });

  it("have nothing for a consumer whose contract is over, and nothing at all after the last", async () => {
    consumers.splice(1);
    other.heard.route.handle({
      caller: { id: second.key.id, publicKey: "" },
      params: {},
      body: { network: null },
      signal: new AbortController().signal,
    });
    await until("one consumer's guests are left", () => {
      const by = other.plan(one)?.spec.introducedBy;
      return by?.length === 1 && by[0] === first.key.id && groups(other, one).length === 1;
    });
    const [peering] = first.server.list(Peering) as [Peering];
    first.server.update(Peering, { ...peering, spec: { ...peering.spec, link: false } } as never);
    await until("nothing is left", () => other.plan(one) === undefined && other.link(one) === undefined);
  });
});
