import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, describe, test } from "node:test";
import type { Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { LARGEST_BODY } from "../protocol.ts";
import { writeToken } from "./pairing-token.ts";
import { PeerTls } from "./peer-tls.ts";
import { type RedeemOptions, redeemToken } from "./redeem-token.ts";
import { SiteKey } from "./site-key.ts";

const [issuer, redeemer] = (await Promise.all([1, 2].map(() => SiteKey.generate()))) as [SiteKey, SiteKey];
const tlsOf = (key: SiteKey) => new PeerTls({ key, clock: systemClock, logger: silentLogger });

/** Holds what is created. */
function emptySite() {
  const items: Site[] = [];
  const client = {
    list: async () => ({ apiVersion: "", kind: "", metadata: {}, items }),
    create: async (_: unknown, site: Site) => {
      items.push(site);
      return site;
    },
  } as unknown as KubeClient;
  return { client, items };
}

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

/** The right site, which answers as it likes. */
async function issuerThat(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(tlsOf(issuer).serverOptions(), handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUps.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function redeemAt(endpoints: string[], options: Partial<RedeemOptions> = {}) {
  const { client, items } = emptySite();
  const text = writeToken({ site: issuer.id, endpoints, secret: "s".repeat(43), expires: 0 });
  const redeeming = redeemToken(text, {
    tls: tlsOf(redeemer),
    client,
    siteName: "lively-wave",
    endpoints: [],
    ...options,
  });
  return { site: await redeeming, items };
}

const answering = (status: number, body: string) =>
  issuerThat((_, response) => void response.writeHead(status, { "content-type": "application/json" }).end(body));

describe("redeeming a token at a site that answers strangely", () => {
  test("the request is what the protocol says, below the path of the endpoint", async () => {
    let asked: unknown;
    const endpoint = await issuerThat(async (request, response) => {
      const body = JSON.parse((await request.toArray()).join("")) as unknown;
      asked = [request.method, request.url, body];
      response.end('{"name":"harbour","endpoints":[]}');
    });
    const { site } = await redeemAt([`${endpoint}/sites/harbour/`]);
    const body = { secret: "s".repeat(43), issuer: issuer.id, name: "lively-wave", endpoints: [] };
    assert.deepEqual(asked, ["POST", "/sites/harbour/fjord/v1/pair", body]);
    assert.deepEqual(site.spec.endpoints, [`${endpoint}/sites/harbour/`], "those of the token, as the answer has none");
  });

  for (const [what, status, body] of [
    ["no JSON", 200, "<html>\u001b[2J\u009b2J"],
    ["nothing", 200, ""],
    ["no object", 200, "null"],
    ["endpoints that are none", 200, '{"endpoints":["http://a"]}'],
    ["too many endpoints", 200, JSON.stringify({ endpoints: Array.from({ length: 9 }, (_, i) => `https://h${i}`) })],
    ["too much", 200, JSON.stringify({ endpoints: [], more: "x".repeat(LARGEST_BODY) })],
    ["that it has failed", 500, '{"code":"InternalError","message":"oh"}'],
    ["a redirection", 302, "{}"],
  ] as const) {
    test(`an answer of ${what} makes no Site, and the next endpoint is asked`, async () => {
      const strange = await answering(status, body);
      await assert.rejects(redeemAt([strange]), { code: "PAIRING_FAILED", message: /^[\x20-\x7e]+$/ });
      const good = await answering(200, '{"name":"harbour","endpoints":[]}');
      const { items } = await redeemAt([strange, good]);
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        ["harbour"],
      );
    });
  }

  test("a refusal is told once, without what would move a terminal's cursor", async () => {
    const endpoint = await answering(
      403,
      JSON.stringify({ code: "TokenUsed", message: `\u001b[2Jgone\n${"x".repeat(9_999)}` }),
    );
    const never = await issuerThat(() => assert.fail("was asked"));
    await assert.rejects(redeemAt([endpoint, never]), (error: Error) => {
      assert.match(error.message, /^\?\[2Jgone\?x+ \(TokenUsed\)$/);
      assert.ok(error.message.length < 600);
      return true;
    });
  });

  test("a hostile name is no trouble", async () => {
    const endpoint = await answering(200, JSON.stringify({ name: "../Lively-Wave\u0000", endpoints: [] }));
    const { site } = await redeemAt([endpoint]);
    assert.equal(site.metadata.name, `lively-wave-${issuer.id.slice(0, 6)}`, "the own Site's is not given away");
  });

  test("a site that falls silent is given up in time; an abort is an abort", async () => {
    const silent = await issuerThat(() => {});
    await assert.rejects(redeemAt([silent], { timeoutMs: 200 }), { code: "PAIRING_FAILED" });
    const dripping = await issuerThat((_, response) => void response.writeHead(200).write("{"));
    await assert.rejects(redeemAt([dripping], { timeoutMs: 200 }), { code: "PAIRING_FAILED" });
    const stop = new AbortController();
    const asked = Promise.withResolvers<void>();
    const waiting = await issuerThat(() => asked.resolve());
    const redeeming = redeemAt([waiting], { signal: stop.signal });
    await asked.promise;
    stop.abort(new Error("enough"));
    await assert.rejects(redeeming, { message: "enough" });
  });

  test("tokens that cannot be redeemed are refused before anything is dialled", async () => {
    await assert.rejects(redeemAt([]), { code: "PAIRING_TOKEN_WITHOUT_ENDPOINTS" });
    await assert.rejects(redeemAt(["https://127.0.0.1:1"], { tls: tlsOf(issuer) }), { code: "PAIRING_WITH_ITSELF" });
  });
});
