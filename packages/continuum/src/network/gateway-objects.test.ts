import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, Link, newObject, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { clusterConfig, KubeClient, Node, Secret, SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { GatewayObjects, type GatewayPlace } from "./gateway-objects.ts";
import { TestCaches } from "./proxy/test-caches.ts";

const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const naming = [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }];

/** The API of a site with one peer, and caches of it that run. */
async function siteApi(network: object = {}, lanes?: object[], silent: readonly number[] = []) {
  const server = await FaultServer.start();
  const client = new KubeClient(clusterConfig({ server: server.url }));
  const caches = new SharedCaches({ client, clock: systemClock, random: Math.random, logger: silentLogger });
  const own = newObject(Site, { metadata: { name: "own" }, spec: { network: { port: 4000, ...network } } });
  const gateway = { node: "one", addresses: ["192.0.2.7"], endpoints: [], ...(lanes && { lanes }) };
  server.create(Site, { ...own, status: { role: "Self", gateway } } as never);
  server.create(Site, newObject(Site, { metadata: { name: "peer" }, spec: { id } }) as never);
  const plan = newObject(AddressPlan, { metadata: { name: id }, spec: { site: id, own: naming, peer: naming } });
  server.create(AddressPlan, plan as never);
  const publicKey = `${"Ab+/".repeat(10)}Abc=`;
  const spec = { site: id, publicKey, endpoints: ["a:1"], groups: [] };
  const further = silent.map((lane) => ({ endpoints: [`a:${1 + lane}`] }));
  const link = newObject(Link, {
    metadata: { name: id },
    spec: { ...spec, ...(silent.length > 0 && { lanes: further }) },
  });
  const status = { lanes: silent.map((lane) => ({ lane, silent: true, node: "two", receivedBytes: 0, sentBytes: 0 })) };
  server.create(Link, { ...link, ...(silent.length > 0 && { status }) } as never);
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  return {
    server,
    objects: async (place?: GatewayPlace) => {
      const now = () => systemClock.now();
      const objects = new GatewayObjects({ client, caches, namespace: "fjord-system", now, ...(place && { place }) });
      running = caches.run(stop.signal);
      await caches.waitForSync();
      return objects;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 10))) {
    const found = await look();
    if (found !== undefined) return found;
    assert.ok(Date.now() < deadline, "not within a minute");
  }
}

const metadata = { name: "fjord-link", namespace: "fjord-system" };
const secret: Secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata,
  data: { privateKey: Buffer.from("secret").toString("base64") },
};
const nodeOf = (name: string, address: string): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name },
  status: { addresses: [{ type: "InternalIP", address }] },
});

describe("what a gateway reads of its site's API", () => {
  it("is the own site's links, and its key", async () => {
    await using api = await siteApi();
    const objects = await api.objects();
    assert.equal(await objects.read(), undefined);
    api.server.create(Secret, secret);
    const found = await eventually(() => objects.read());
    assert.equal(found.carries?.privateKey, "secret");
    assert.equal(found.carries?.state.listenPort, 4000);
    assert.deepEqual(
      found.carries?.state.peers.map(({ siteId, own: ours, link }) => [siteId, ours, link.endpoints]),
      [[id, naming, ["a:1"]]],
    );
    assert.equal(found.way, undefined);
  });

  it("is, for a node that only follows, where the gateway is, and not the key", async () => {
    await using api = await siteApi();
    api.server.create(Secret, secret);
    const objects = await api.objects({ node: "two" });
    assert.deepEqual(await objects.read(), {
      way: { own: ["10.42.0.0/16"], ranges: ["240.0.0.0/16"], gateway: ["192.0.2.7"], nodes: [], mtu: 1380 },
    });
  });

  it("is for every node which peers have fallen silent, and at once", async () => {
    await using api = await siteApi();
    api.server.create(Secret, secret);
    const objects = await api.objects({ node: "two" });
    let changes = 0;
    const release = objects.onChange(() => changes++);
    const say = (status: string, reason: string) => {
      const conditions = [{ type: "Ready", status, reason, message: "", lastTransitionTime: "2030-01-01T00:00:00Z" }];
      api.server.update(Link, { ...api.server.list(Link)[0], status: { conditions } } as never);
    };
    assert.equal((await objects.read())?.silent, undefined);
    say("False", "Silent");
    assert.deepEqual(await eventually(async () => (await objects.read())?.silent), ["240.0.0.0/16"]);
    assert.equal(changes, 1);
    say("True", "HandshakeSeen");
    await eventually(async () => ((await objects.read())?.silent === undefined ? true : undefined));
    assert.equal(changes, 2);
    release();
  });

  it("is for whoever carries the links who else is there", async () => {
    await using api = await siteApi();
    api.server.create(Secret, secret);
    api.server.create(Node, nodeOf("one", "192.0.2.7"));
    api.server.create(Node, nodeOf("two", "192.0.2.8"));
    const role = roleOf();
    const objects = await api.objects({ node: "two", role });
    assert.equal(await objects.read(), undefined, "nobody knows yet who does");
    assert.equal(role.wanted, 1);
    role.lanes = [];
    assert.deepEqual((await objects.read())?.way?.gateway, ["192.0.2.7"]);
    assert.equal((await objects.read())?.carries, undefined);
    role.lanes = [0];
    const { carries, way } = (await objects.read()) ?? {};
    assert.equal(carries?.privateKey, "secret");
    assert.deepEqual([way?.gateway, way?.nodes], [[], ["192.0.2.7"]]);
    assert.deepEqual([carries?.state.carried, way?.lanes, way?.heir], [undefined, undefined, undefined]);
    role.heir = "one";
    assert.deepEqual((await objects.read())?.way?.heir, ["192.0.2.7"]);
    role.lanes = [];
    assert.equal((await objects.read())?.way?.heir, undefined, "who carries nothing leaves nothing");
    assert.equal((await objects.read())?.inherits, undefined);
    role.inherits = [0, 1];
    assert.deepEqual((await objects.read())?.inherits?.carried, [0], "of those that there are");
  });

  it("is, where links have several lanes, which of them are here and where the others are", async () => {
    const at = (lane: number, node: string, address: string) => ({ lane, node, addresses: [address], endpoints: [] });
    const lanes = [at(0, "one", "192.0.2.7"), at(1, "two", "192.0.2.8"), at(2, "three", "192.0.2.9")];
    await using api = await siteApi({ lanes: 3 }, lanes);
    api.server.create(Secret, secret);
    for (const { node, addresses } of lanes) api.server.create(Node, nodeOf(node, addresses[0] ?? ""));
    const role = roleOf();
    role.lanes = [1];
    const objects = await api.objects({ node: "two", role });
    const { carries, way } = (await objects.read()) ?? {};
    assert.equal(role.wanted, 3);
    assert.deepEqual([carries?.state.parallel, carries?.state.carried], [3, [1]]);
    assert.deepEqual(way?.gateway, ["192.0.2.7"]);
    assert.deepEqual(way?.lanes?.gateways, [[], ["192.0.2.9"]]);
    assert.deepEqual([way?.lanes?.isChosen, way?.nodes], [false, ["192.0.2.7", "192.0.2.9"]]);
    assert.deepEqual(way?.lanes?.peers, [{ siteId: id, ranges: ["240.0.0.0/16"], lanes: 1, silent: [] }]);
    role.lanes = [];
    const none = (await objects.read())?.way;
    assert.deepEqual(
      [none?.lanes?.gateways, none?.lanes?.isChosen],
      [[[], ["192.0.2.9"]], true],
      "it was here until now",
    );
  });

  it("is, where a lane is silent, another way only for who chooses by it: links' own firewall does elsewhere", async () => {
    const at = (lane: number, node: string, address: string) => ({ lane, node, addresses: [address], endpoints: [] });
    await using api = await siteApi({ lanes: 2 }, [at(0, "one", "192.0.2.7"), at(1, "two", "192.0.2.8")], [1]);
    api.server.create(Secret, secret);
    const role = roleOf();
    role.lanes = [0];
    const objects = await api.objects({ node: "one", role });
    const { carries, way } = (await objects.read()) ?? {};
    assert.deepEqual([carries?.state.peers[0]?.link.silent, way?.lanes?.peers[0]?.silent], [[1], []]);
    role.lanes = [];
    assert.deepEqual((await objects.read())?.way?.lanes?.peers[0]?.silent, [1]);
  });

  it("is, for a node that only follows, where each lane is, unless that was said before the first one moved", async () => {
    const at = (lane: number, node: string, address: string) => ({ lane, node, addresses: [address], endpoints: [] });
    await using api = await siteApi({ lanes: 2 }, [at(0, "one", "192.0.2.7"), at(1, "two", "192.0.2.8")]);
    const way = (await (await api.objects({ node: "four" })).read())?.way;
    assert.deepEqual([way?.gateway, way?.lanes?.gateways], [["192.0.2.7"], [["192.0.2.8"]]]);
    await using later = await siteApi({ lanes: 2 }, [at(0, "five", "192.0.2.5"), at(1, "two", "192.0.2.8")]);
    const now = (await (await later.objects({ node: "four" })).read())?.way;
    assert.deepEqual([now?.gateway, now?.lanes?.gateways], [["192.0.2.7"], [[]]]);
  });
});

describe("what a gateway says of links in its site's API", () => {
  const spec = { site: id, publicKey: `${"Ab+/".repeat(10)}Abc=`, endpoints: [], groups: [] };
  const seen = { siteId: id, receivedBytes: 0, sentBytes: 0, latencyMs: 1 };

  /** A site's API with one Link, and programs that tell each fifth of a second how it is. */
  const setUp = () => {
    let now = 1_000_000;
    /** By how much the clock is off that things are dated by. */
    let off = 0;
    const api = new TestCaches();
    const written: (string | undefined)[] = [];
    let lanes: object[] | undefined;
    const link = () => api.caches.open(Link).cache.get({ name: id });
    const patch = async (_: unknown, __: unknown, ___: unknown, { status }: Pick<Link, "status">) => {
      written.push(status?.conditions?.[0]?.reason);
      api.put("links", { ...link(), status: { ...status, ...(lanes && { lanes }) } } as never);
    };
    /** What other nodes say of the lanes that they carry. */
    const say = (said: object[]) => {
      lanes = said;
      api.put("links", { ...link(), status: { ...link()?.status, lanes } } as never);
    };
    api.put("links", newObject(Link, { metadata: { name: id }, spec }) as never);
    const program = (place?: GatewayPlace) => {
      const client = { patch } as never;
      const times = { now: () => now + off, steady: () => now };
      const means = { client, caches: api.caches, namespace: "fjord-system", ...times };
      const objects = new GatewayObjects({ ...means, ...(place && { place }) });
      const askedSince = now;
      return async (ms: number, signs: (at: number) => object, handshakeAt = 1_000_000, more = (_: number) => ({})) => {
        for (const end = now + ms; now < end; ) {
          now += 200;
          const said = { signs: { askedSince, unanswered: 0, ...signs(now) }, ...more(now) };
          await objects.tell([{ ...seen, handshakeAt, ...said }]);
        }
        return link()?.status?.conditions?.[0]?.reason;
      };
    };
    const set = (ms: number) => {
      off = ms;
    };
    return { program, written, now: () => now, set, say, endpoint: () => link()?.status?.endpoint };
  };
  const answers = (at: number) => ({ heardAt: at });
  const never = (since: number) => () => ({ unanswered: 9, unansweredSince: since });

  it("is at once that a peer has fallen silent, and once it has answered for a second that it is not", async () => {
    const { program, written, now } = setUp();
    const tell = program();
    assert.equal(await tell(3_000, answers), "HandshakeSeen");
    const cut = { heardAt: now(), ...never(now())() };
    assert.equal(await tell(2_000, () => cut), "HandshakeSeen");
    assert.equal(await tell(200, () => cut), "Silent");
    const count = written.length;
    assert.equal(await tell(5_000, () => cut), "Silent");
    assert.equal(written.length, count, "and it is said once");
    assert.equal(await tell(1_000, answers), "Silent");
    assert.equal(await tell(400, answers), "HandshakeSeen");
  });

  it("is where the peer is, at once, and every other second where it moves with each packet", async () => {
    const { program, written, endpoint } = setUp();
    const tell = program();
    await tell(3_000, answers);
    await tell(200, answers, undefined, () => ({ endpoint: "192.0.2.9:1" }));
    assert.equal(endpoint(), "192.0.2.9:1");
    const before = written.length;
    await tell(20_000, answers, undefined, (at) => ({ endpoint: `192.0.2.9:${(at / 200) % 60_000}`, handshakeAt: at }));
    assert.ok(written.length - before >= 9 && written.length - before <= 11, `${written.length - before} times`);
    await tell(2_200, answers, undefined, () => ({ endpoint: "192.0.2.9:2" }));
    assert.equal(endpoint(), "192.0.2.9:2");
  });

  it("is not that the peer is silent while another node hears it on a lane of its own, and is once that does not either", async () => {
    const { program, now, say } = setUp();
    const role = { ...roleOf(), lanes: [0] };
    const tell = program({ node: "one", role });
    const other = { lane: 1, node: "two", handshakeAt: "2026-01-01T00:00:00Z" };
    say([{ lane: 0, node: "one", handshakeAt: other.handshakeAt }, other]);
    assert.equal(await tell(3_000, answers), "HandshakeSeen");
    const cut = { heardAt: now(), ...never(now())() };
    assert.equal(await tell(4_000, () => cut), "HandshakeSeen");
    say([{ ...other, silent: true }]);
    assert.equal(await tell(200, () => cut), "Silent");
    say([other]);
    assert.equal(await tell(200, () => cut), "HandshakeSeen");
    // What another one left there before this node took it says nothing.
    role.lanes.push(1);
    assert.equal(await tell(200, () => cut), "Silent");
  });

  for (const hours of [1, -1])
    it(`is the same where the clock was set by ${hours} h meanwhile`, async () => {
      const { program, written, now, set } = setUp();
      const tell = program();
      await tell(3_000, answers);
      set(hours * 3_600_000);
      // One answer is late: nobody is silent for that.
      await tell(1_400, () => ({ heardAt: now() - 1_000, unanswered: 5, unansweredSince: now() - 500 }));
      assert.ok(!written.includes("Silent"), "it was not");
      const cut = { heardAt: now(), ...never(now())() };
      await tell(2_400, () => cut);
      assert.equal(written.at(-1), "Silent");
      await tell(1_400, answers);
      assert.notEqual(written.at(-1), "Silent");
    });

  it("is, by the next program, what holds then, whatever has happened while there was none", async () => {
    const { program, now } = setUp();
    assert.equal(await program()(3_000, answers), "HandshakeSeen");
    // The link has gone meanwhile.
    const handshakeAt = now();
    const second = program();
    assert.equal(await second(5_000, never(now()), handshakeAt), "HandshakeSeen");
    assert.equal(await second(1_000, never(now() - 5_000), handshakeAt), "Silent");
    assert.equal(await program()(10_000, never(now()), handshakeAt), "Silent");
    // And is back.
    assert.equal(await program()(1_600, answers, handshakeAt), "HandshakeSeen");
  });
});

function roleOf() {
  return {
    lanes: undefined as number[] | undefined,
    wanted: undefined as number | undefined,
    heir: undefined as string | undefined,
    inherits: [] as number[],
    want(count: number) {
      this.wanted = count;
    },
    onChange: () => () => {},
  };
}
