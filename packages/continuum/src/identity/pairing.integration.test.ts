import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { newObject, Site } from "@fjord/api";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { KubeClient, Secret } from "@fjord/kube";
import { kubernetesSkip, startTestBed } from "@fjord/testbed/testing";
import fc from "fast-check";
import type { PeerRefused } from "../peer-refused-error.ts";
import { checkEndpoint } from "./endpoint.ts";
import { KeyStore } from "./key-store.ts";
import { writeToken } from "./pairing-token.ts";
import { PairingTokens } from "./pairing-tokens.ts";
import { PeerTls } from "./peer-tls.ts";
import { type RedeemOptions, redeemToken } from "./redeem-token.ts";
import { SiteKey } from "./site-key.ts";
import { oddEndings } from "./test-endpoints.ts";
import { killedAt, means, NAMESPACE, pairRouteOf, prepare, startIssuer } from "./test-pairing.ts";

const HOUR = 3_600_000;

describe("pairing on real API servers", { skip: kubernetesSkip() }, () => {
  let bed: Awaited<ReturnType<typeof startTestBed>>;
  let provider: KubeClient;
  let consumer: KubeClient;
  let issuer: Awaited<ReturnType<typeof startIssuer>>;

  before(async () => {
    bed = await startTestBed({ sites: 2, components: "apiserver" });
    [provider, consumer] = bed.sites.map((site) => new KubeClient(site.config)) as [KubeClient, KubeClient];
    await Promise.all([provider, consumer].map(prepare));
    issuer = await startIssuer(provider, await SiteKey.generate(), "harbour");
    await provider.create(Site, newObject(Site, { metadata: { name: "harbour" }, spec: {} }));
  });
  after(async () => {
    await issuer?.[Symbol.asyncDispose]();
    await Promise.all([provider?.close(), consumer?.close()]);
    await bed?.stop();
  });
  beforeEach(async () => {
    issuer.refusals.length = 0;
    for (const client of [provider, consumer]) {
      for (const { metadata, spec } of (await client.list(Site)).items) {
        if (spec.id !== undefined) await client.delete(Site, { name: metadata.name ?? "" });
      }
    }
  });

  const redeem = (key: SiteKey, text: string, options: Partial<RedeemOptions> = {}) =>
    redeemToken(text, {
      tls: new PeerTls({ ...means, key }),
      client: consumer,
      siteName: "lively-wave",
      endpoints: ["https://wave.example:7443"],
      ...options,
    });

  const sites = async (client: KubeClient) =>
    new Map((await client.list(Site)).items.map(({ metadata, spec }) => [metadata.name, spec]));

  const refusedAs = (code: string) => (error: PeerRefused) => {
    assert.equal(error.refusal?.code, code, String(error));
    return true;
  };

  test("a redeemed token makes both sites known to each other, and one of them a consumer", async () => {
    const key = await SiteKey.generate();
    const { text } = await issuer.mint({ label: "for the wave" });
    const made = await redeem(key, text);
    assert.equal(made.metadata.name, "harbour");
    assert.deepEqual((await sites(consumer)).get("harbour"), {
      id: issuer.key.id,
      endpoints: issuer.endpoints,
      mayConsume: false,
    });
    assert.deepEqual((await sites(provider)).get("lively-wave"), {
      id: key.id,
      endpoints: ["https://wave.example:7443"],
      mayConsume: true,
    });
    assert.deepEqual(issuer.refusals, []);
  });

  test("both ways lets the issuer consume too, and a pairing without it later takes nothing back", async () => {
    const key = await SiteKey.generate();
    await redeem(key, (await issuer.mint()).text, { bothWays: true });
    assert.equal((await sites(consumer)).get("harbour")?.mayConsume, true);
    await redeem(key, (await issuer.mint()).text);
    assert.equal((await sites(consumer)).get("harbour")?.mayConsume, true);
    assert.equal((await sites(provider)).size, 2, "one object for one peer, however often it pairs");
  });

  test("the secret is kept nowhere", async () => {
    const { secret, record } = await issuer.mint();
    const stored = await provider.get(Secret, { name: record, namespace: NAMESPACE });
    const values = Object.values(stored.data ?? {}).map((value) => Buffer.from(value, "base64").toString("latin1"));
    const bytes = Buffer.from(secret, "base64url").toString("latin1");
    for (const text of [JSON.stringify(stored), ...values]) {
      assert.ok(!text.includes(secret) && !text.includes(bytes));
    }
  });

  test("a token is good for one site, which may ask again", async () => {
    const [first, second] = [await SiteKey.generate(), await SiteKey.generate()];
    const { text } = await issuer.mint();
    await redeem(first, text);
    await redeem(first, text);
    await assert.rejects(redeem(second, text), refusedAs("TokenUsed"));
    assert.deepEqual(issuer.refusals, ["TokenUsed"]);
    assert.ok(![...(await sites(provider)).values()].some(({ id }) => id === second.id));
  });

  test("of a hundred sites that redeem a token at once, one wins", async () => {
    const { secret } = await issuer.mint();
    const keys = await Promise.all(Array.from({ length: 100 }, () => SiteKey.generate()));
    const call = (key: SiteKey) => ({
      caller: key,
      params: {},
      body: { secret, issuer: issuer.key.id, name: "racer", endpoints: [] },
      signal: new AbortController().signal,
    });
    const results = await Promise.allSettled(keys.map((key) => issuer.route.handle(call(key))));
    const won = keys.filter((_, index) => results[index]?.status === "fulfilled");
    assert.equal(won.length, 1);
    assert.deepEqual(new Set(issuer.refusals), new Set(["TokenUsed"]));
    assert.equal(issuer.refusals.length, 99);
    const peers = [...(await sites(provider)).values()].filter(({ id }) => id !== undefined);
    assert.deepEqual(
      peers.map(({ id }) => id),
      [won[0]?.id],
    );
  });

  test("one site that redeems a token many times at once has one Site", async () => {
    const { text } = await issuer.mint();
    const key = await SiteKey.generate();
    await Promise.all(Array.from({ length: 8 }, (_, index) => redeem(key, text, { siteName: `wave-${index}` })));
    assert.equal((await sites(provider)).size, 2);
    assert.equal((await sites(consumer)).size, 1);
  });

  test("a peer that was removed does not come back with its old token", async () => {
    const { text } = await issuer.mint();
    const key = await SiteKey.generate();
    await redeem(key, text);
    await provider.delete(Site, { name: "lively-wave" });
    await assert.rejects(redeem(key, text), refusedAs("TokenUsed"));
    assert.equal((await sites(provider)).has("lively-wave"), false);
  });

  test("a lost answer may be asked for after the token has expired; a redemption that was not finished may not", async () => {
    const clock = new ManualClock(Date.now());
    const tokens = new PairingTokens({ client: provider, namespace: NAMESPACE, clock, logger: silentLogger });
    const [finished, begun] = [await issuer.mint(), await issuer.mint()];
    const { id } = await SiteKey.generate();
    const redemption = await tokens.redeem(finished.secret, id);
    await provider.patch(Secret, { name: finished.record, namespace: NAMESPACE }, "merge", {
      metadata: { labels: { a: "b" } },
    });
    await redemption.complete("uid-1");
    await tokens.redeem(begun.secret, id);
    assert.equal((await tokens.redeem(begun.secret, id)).madeSite, undefined);
    await clock.advance(HOUR);
    assert.equal((await tokens.redeem(finished.secret, id)).madeSite, "uid-1");
    await assert.rejects(tokens.redeem(begun.secret, id), refusedAs("TokenExpired"));
  });

  test("a peer that may no longer consume gets that back by a new token, not by its old one", async () => {
    const key = await SiteKey.generate();
    const { text } = await issuer.mint();
    await redeem(key, text);
    await provider.patch(Site, { name: "lively-wave" }, "merge", { spec: { mayConsume: false } });
    await redeem(key, text);
    assert.equal((await sites(provider)).get("lively-wave")?.mayConsume, false);
    await redeem(key, (await issuer.mint()).text);
    assert.equal((await sites(provider)).get("lively-wave")?.mayConsume, true);
  });

  test("an issuer that is killed before or after any of its writes finishes the pairing when asked again", async () => {
    for (const when of ["before", "after"] as const) {
      for (let write = 1; ; write++) {
        const key = await SiteKey.generate();
        const { secret, text } = await issuer.mint();
        const dying = pairRouteOf(killedAt(provider, when, write), issuer.key.id);
        const body = { secret, name: `wave-${when}-${write}`, endpoints: [] };
        const call = { caller: key, params: {}, body, signal: new AbortController().signal };
        const survived = await Promise.resolve(dying.handle(call)).then(
          () => true,
          (error: Error) => assert.equal(error.message, "killed"),
        );
        await redeem(key, text, { siteName: `wave-${when}-${write}`, endpoints: [] });
        const mine = [...(await sites(provider))].filter(([, { id }]) => id === key.id);
        assert.deepEqual(mine, [[`wave-${when}-${write}`, { id: key.id, mayConsume: true, endpoints: [] }]]);
        await assert.rejects(redeem(await SiteKey.generate(), text), refusedAs("TokenUsed"));
        if (survived) break;
        assert.ok(write < 10);
      }
    }
  });

  test("no name that a peer gives leads to another's Site", async () => {
    const [victim, thief] = [await SiteKey.generate(), await SiteKey.generate()];
    await redeem(victim, (await issuer.mint()).text, { siteName: "lively-wave" });
    await redeem(thief, (await issuer.mint()).text, { siteName: "lively-wave" });
    const boaster = await SiteKey.generate();
    await redeem(boaster, (await issuer.mint()).text, { siteName: "Harbour" });
    const known = await sites(provider);
    assert.equal(known.get("lively-wave")?.id, victim.id);
    assert.equal(known.get(`lively-wave-${thief.id.slice(0, 6)}`)?.id, thief.id);
    assert.equal(known.get("harbour")?.id, undefined, "the own Site is left alone");
    assert.equal(known.get(`harbour-${boaster.id.slice(0, 6)}`)?.id, boaster.id);
  });

  test("wrong, expired, foreign and malformed requests are refused, each for its reason, and counted", async () => {
    const key = await SiteKey.generate();
    const [site, expires] = [issuer.key.id, Date.now() + HOUR];
    const wrong = writeToken({ site, endpoints: issuer.endpoints, secret: "A".repeat(43), expires });
    await assert.rejects(redeem(key, wrong), refusedAs("TokenInvalid"));
    const expired = await issuer.mint({ ttlMs: -1_000 });
    await assert.rejects(redeem(key, expired.text), refusedAs("TokenExpired"));
    const { secret } = await issuer.mint();
    const handle = (body: unknown) =>
      issuer.route.handle({ caller: key, params: {}, body, signal: new AbortController().signal }) as Promise<unknown>;
    await assert.rejects(handle({ secret, issuer: key.id, endpoints: [] }), refusedAs("TokenForeign"));
    for (const endpoint of ["http://a", "https://user:pass@a", "file:///etc/passwd", `https://${"a".repeat(300)}`, 7]) {
      await assert.rejects(handle({ secret, endpoints: [endpoint] }), refusedAs("RequestMalformed"));
    }
    assert.deepEqual(issuer.refusals, [
      "TokenInvalid",
      "TokenExpired",
      "TokenForeign",
      ...Array.from({ length: 5 }, () => "RequestMalformed"),
    ]);
  });

  test("every endpoint that is taken can be written into a Site", async () => {
    const taken = fc.sample(oddEndings, { numRuns: 4_000, seed: 5 }).flatMap((rest) => {
      try {
        return [checkEndpoint(`https://${rest}`)];
      } catch {
        return [];
      }
    });
    const endpoints = [...new Set(taken)];
    assert.ok(endpoints.length > 100);
    for (let start = 0; start < endpoints.length; start += 8) {
      const spec = { endpoints: endpoints.slice(start, start + 8) };
      await provider.create(Site, newObject(Site, { metadata: { name: "odd" }, spec }), { dryRun: true });
    }
  });

  test("who tries too often has to wait", async () => {
    const key = await SiteKey.generate();
    // Its time stands still, so that nobody has waited in between.
    const clock = new ManualClock(Date.now());
    await using strict = await startIssuer(provider, await SiteKey.generate(), "harbour", clock);
    const wrong = writeToken({ site: strict.key.id, endpoints: strict.endpoints, secret: "B".repeat(43), expires: 0 });
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => redeem(key, wrong)));
    const codes = results.map((result) => (result as PromiseRejectedResult).reason.refusal.code);
    assert.equal(codes.filter((code) => code === "TooManyAttempts").length, 2);
  });

  test("a token of a site whose address another has now goes nowhere", async () => {
    const { secret, expires } = await issuer.mint();
    const gone = await SiteKey.generate();
    const text = writeToken({ site: gone.id, endpoints: issuer.endpoints, secret, expires });
    await assert.rejects(redeem(await SiteKey.generate(), text), (error: Error) => {
      assert.match(error.message, /WrongKey/);
      return true;
    });
    assert.deepEqual(issuer.refusals, [], "the secret was not sent");
  });

  test("endpoints are tried in order until one leads to the site", async () => {
    const token = await issuer.mint({ endpoints: ["https://127.0.0.1:1", ...issuer.endpoints] });
    const made = await redeem(await SiteKey.generate(), token.text);
    assert.deepEqual(made.spec.endpoints, issuer.endpoints, "as the site itself says");
  });

  test("a name that cannot be given is refused before the token is used", async () => {
    const key = await SiteKey.generate();
    const { text } = await issuer.mint();
    await assert.rejects(redeem(key, text, { name: "lively-wave" }), { code: "SITE_NAME_TAKEN" });
    assert.equal((await sites(provider)).size, 1);
    assert.equal((await redeem(key, text, { name: "quay" })).metadata.name, "quay");
    await assert.rejects(redeem(key, text, { name: "pier" }), { code: "SITE_KNOWN_OTHERWISE" });
  });

  test("expired tokens are remembered for a while, then removed", async () => {
    const clock = new ManualClock(Date.now());
    const tokens = new PairingTokens({ client: provider, namespace: NAMESPACE, clock, logger: silentLogger });
    const { record } = await issuer.mint();
    const names = async () =>
      (await provider.list(Secret, { namespace: NAMESPACE })).items.map((each) => each.metadata.name);
    await clock.advance(2 * HOUR - 60_000);
    await tokens.sweep();
    assert.ok((await names()).includes(record));
    await clock.advance(60_000);
    await tokens.sweep();
    assert.ok(!(await names()).includes(record));
  });

  test("agents that start at once agree on one key, and keep it and the name", async () => {
    const loaded = await Promise.all(
      Array.from({ length: 8 }, () => KeyStore.load(provider, NAMESPACE, { name: "harbour" })),
    );
    assert.equal(new Set(loaded.map(({ key }) => key.id)).size, 1);
    const again = await KeyStore.load(provider, NAMESPACE);
    assert.equal(again.key.id, loaded[0]?.key.id);
    assert.equal(again.name, "harbour");
    const renamed = await KeyStore.load(provider, NAMESPACE, { name: "port" });
    assert.deepEqual([renamed.key.id, renamed.name, renamed.formerName], [again.key.id, "port", "harbour"]);
    assert.equal((await KeyStore.read(provider, NAMESPACE))?.name, "port");
    assert.equal(await KeyStore.read(provider, "default"), undefined);
  });

  test("a damaged key is refused and left as it is", async () => {
    const namespace = "default";
    const { key } = await KeyStore.load(consumer, namespace);
    const good = await consumer.get(Secret, { name: "fjord-identity", namespace });
    const encode = (text: string) => Buffer.from(text).toString("base64");
    for (const damage of [
      { "key.pem": encode("nonsense") },
      { "key.pem": null },
      { id: encode((await SiteKey.generate()).id) },
      { "key.pem": encode((await SiteKey.generate()).toPem()) },
      { "site-name": null },
    ]) {
      const damaged = await consumer.patch(Secret, { name: "fjord-identity", namespace }, "merge", { data: damage });
      await assert.rejects(KeyStore.load(consumer, namespace, { name: "other" }), { code: "IDENTITY_DAMAGED" });
      const left = await consumer.get(Secret, { name: "fjord-identity", namespace });
      assert.equal(left.metadata.resourceVersion, damaged.metadata.resourceVersion);
      await consumer.patch(Secret, { name: "fjord-identity", namespace }, "merge", { data: good.data });
    }
    assert.equal((await KeyStore.load(consumer, namespace)).key.id, key.id);
  });
});
