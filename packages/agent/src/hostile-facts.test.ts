import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { after, describe, it } from "node:test";
import { Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { PeerTls, SiteKey } from "@fjord/continuum/identity";
import { checkNetworkFacts, HeardNetworks } from "@fjord/continuum/network";
import { LARGEST_BODY, PeerServer } from "@fjord/continuum/peering";
import fc from "fast-check";

const SEED = Number(process.env.FJORD_SEED ?? 1);
/** `npm run faults` asks for more. */
const RUNS = process.env.FJORD_TEST_FAULTS === "1" ? 20_000 : 150;

const good = {
  publicKey: `${"Ab+/".repeat(10)}Abc=`,
  endpoints: ["wave.example:51820"],
  ranges: ["10.42.0.0/16"],
  names: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
};

const means = { clock: systemClock, random: Math.random, logger: silentLogger };
const [victim, peer] = await Promise.all([SiteKey.generate(), SiteKey.generate()]);
const tlsOf = (key: SiteKey) => new PeerTls({ key, clock: systemClock, logger: silentLogger });
const site = {
  apiVersion: "fjord.dev/v1alpha1",
  kind: Site.kind,
  metadata: { name: "peer" },
  spec: { id: peer.id, mayConsume: true },
} as Site;

describe("a peer that says whatever it likes of its network, by the agents' own port", () => {
  const stop = new AbortController();
  const heard = new HeardNetworks();
  const server = new PeerServer({
    ...means,
    tls: tlsOf(victim),
    siteOf: (id) => (id === peer.id ? site : undefined),
    routes: [heard.route],
    rawRoutes: [],
    host: "127.0.0.1",
    port: 0,
  });
  const listening = server.listen();
  const running = listening.then(() => server.run(stop.signal));
  after(async () => {
    stop.abort();
    await running;
  });

  const put = async (body: string | Buffer, headers: Record<string, string> = {}): Promise<number> => {
    const { port = 0 } = (await listening) ?? {};
    const socket = await tlsOf(peer).connect(`https://127.0.0.1:${port}`, victim.id);
    const type = { "content-type": "application/json", ...headers };
    const asked = request({ createConnection: () => socket, method: "PUT", path: "/fjord/v1/network", headers: type });
    asked.on("error", () => {});
    asked.end(body);
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    await text(answer).catch(() => {});
    socket.destroy();
    return answer.statusCode ?? 0;
  };
  const says = (network: unknown) => put(JSON.stringify({ network }));

  it("is believed where it is honest", async () => {
    assert.equal(await says(good), 200);
    assert.deepEqual(heard.get(peer.id)?.facts, good);
  });

  const bad: Record<string, string | Buffer> = {
    "nothing at all": "",
    "no JSON": "{network:",
    "a list": "[]",
    "a number": "7",
    "half a text": Buffer.from([0x7b, 0x22, 0xc3]),
    "as deep as it goes": `{"network":${"[".repeat(200_000)}${"]".repeat(200_000)}}`,
    "a deep object": `${'{"network":'.repeat(50_000)}1${"}".repeat(50_000)}`,
    "a prototype": `{"__proto__":{"network":${JSON.stringify(good)}}}`,
    "a prototype in the facts": JSON.stringify({ network: good }).replace(
      '"publicKey"',
      '"__proto__":{"x":1},"constructor"',
    ),
    "thousands of ranges": JSON.stringify({
      network: { ...good, ranges: Array.from({ length: 20_000 }, (_, i) => `10.${i % 256}.${i >> 8}.0/24`) },
    }),
    "endless endpoints": JSON.stringify({ network: { ...good, endpoints: Array(20_000).fill("a:1") } }),
    "one name twice": JSON.stringify({ network: { ...good, names: Array(17).fill(good.names[0]) } }),
    "a key of a megabyte": JSON.stringify({ network: { ...good, publicKey: "A".repeat(900_000) } }),
    "an endpoint that takes a pattern long": JSON.stringify({
      network: { ...good, endpoints: [`${"a.".repeat(100_000)}!`] },
    }),
    "an export that takes a pattern long": JSON.stringify({
      network: { ...good, exports: [{ name: `${"a-".repeat(60)}!`, addresses: [], ports: [] }] },
    }),
  };
  for (const [what, body] of Object.entries(bad)) {
    it(`is refused where it says ${what}, and what it has said before holds`, async () => {
      assert.ok([400, 413, 415].includes(await put(body)), what);
      assert.deepEqual(heard.get(peer.id)?.facts, good);
      assert.equal(({} as { x?: unknown }).x, undefined);
    });
  }

  it("is refused where it says more than fits, before all of it is read", async () => {
    assert.equal(await put(Buffer.alloc(LARGEST_BODY + 1, 0x20)), 413);
    assert.deepEqual(heard.get(peer.id)?.facts, good);
  });

  it("is believed only as far as it can be used, whatever it is, and takes no memory", async (t) => {
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(
        ...good.ranges,
        "::/0",
        "0.0.0.0/0",
        "fd66:6a70::/64",
        "248.0.0.0/16",
        "10.42.0.0/99",
        "__proto__",
      ),
    );
    const some = fc.array(fc.oneof(odd, fc.record({ range: odd, called: odd })), { maxLength: 40 });
    // Mostly well, so that what is wrong stands among what is believed.
    const mostly = (value: unknown, wrong: fc.Arbitrary<unknown>) =>
      fc.oneof({ arbitrary: fc.constant(value), weight: 5 }, { arbitrary: wrong, weight: 1 });
    const facts = fc.record({
      publicKey: mostly(good.publicKey, odd),
      endpoints: mostly(good.endpoints, some),
      ranges: mostly(good.ranges, some),
      names: mostly(good.names, some),
      relay: mostly(undefined, odd),
      fallback: mostly(undefined, odd),
      leadsTo: mostly([], some),
      exports: mostly([], some),
      constructor: odd,
    });
    global.gc?.();
    const before = process.memoryUsage().heapUsed;
    let believed = 0;
    await fc.assert(
      fc.asyncProperty(fc.oneof(facts, odd), async (network) => {
        const status = await says(network);
        assert.ok(status === 200 || status === 400, String(status));
        const kept = heard.get(peer.id)?.facts;
        if (status === 200 && kept !== undefined) {
          believed++;
          assert.deepEqual(checkNetworkFacts(kept), kept);
        }
      }),
      { seed: SEED, numRuns: RUNS },
    );
    const grown = (process.memoryUsage().heapUsed - before) / 2 ** 20;
    t.diagnostic(`${RUNS} of seed ${SEED}, ${believed} of them believed; the heap grew by ${grown.toFixed(1)} MiB`);
    assert.ok(grown < 200);
    assert.ok(believed > 0, "nothing was tried that could be believed");
    assert.equal(await says(good), 200);
  });
});
