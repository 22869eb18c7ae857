import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import {
  BOTH_WAYS_ANNOTATION,
  REDEEM_LABEL,
  REDEEMED_ANNOTATION,
  REFUSED_ANNOTATION,
  SITE_NAME_ANNOTATION,
  Site,
  TRIED_ANNOTATION,
} from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { EventRecorder, isNotFound, KubeClient, Secret, SharedCaches } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { PeerTls } from "./peer-tls.ts";
import { SiteKey } from "./site-key.ts";
import { means, NAMESPACE, prepare, startIssuer } from "./test-pairing.ts";
import { TokenRedeemer } from "./token-redeemer.ts";

const HOUR = 3_600_000;

describe("the agent redeems tokens that are put into Secrets", { skip: kubernetesSkip() }, () => {
  let site: SharedTestSite;
  let client: KubeClient;
  let issuer: Awaited<ReturnType<typeof startIssuer>>;
  let key: SiteKey;
  let stopAgent: () => Promise<void>;

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config);
    await prepare(client);
    key = await SiteKey.generate();
    // Both sites in one API: their Sites for each other have different names.
    issuer = await startIssuer(client, await SiteKey.generate(), "harbour");
    stopAgent = startAgent();
  });
  after(async () => {
    await stopAgent?.();
    await issuer?.[Symbol.asyncDispose]();
    await client?.close();
  });

  function startAgent(now = () => Date.now()): () => Promise<void> {
    const clock = { now, after: systemClock.after };
    const shared = { ...means, clock, client };
    const caches = new SharedCaches(shared);
    const recorder = new EventRecorder({ ...shared, component: "test" });
    const home = { ...shared, caches, recorder, identity: key, namespace: NAMESPACE };
    const tls = new PeerTls({ key, clock: systemClock, logger: silentLogger });
    const redeemer = new TokenRedeemer({ home, tls, siteName: "lively-wave", endpoints: () => [] });
    const stop = new AbortController();
    const running = Promise.all([caches.run(stop.signal), redeemer.run(stop.signal, stop.signal)]);
    return async () => {
      stop.abort();
      await running;
    };
  }

  async function ask(token: string, annotations: Record<string, string> = {}): Promise<string> {
    const metadata = {
      generateName: "fjord-redeem-",
      namespace: NAMESPACE,
      labels: { [REDEEM_LABEL]: "true" },
      annotations,
    };
    const made = await client.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, stringData: { token } });
    return made.metadata.name ?? "";
  }

  /** What the agent says of it in the end. */
  async function answer(name: string): Promise<{ redeemed?: string; refused?: string; token?: string }> {
    for await (const event of client.watch(Secret, { namespace: NAMESPACE, fieldSelector: `metadata.name=${name}` })) {
      if (event.type === "BOOKMARK") continue;
      const { metadata, data } = event.object;
      const redeemed = metadata.annotations?.[REDEEMED_ANNOTATION];
      const refused = metadata.annotations?.[REFUSED_ANNOTATION];
      if (redeemed !== undefined || refused !== undefined) return { redeemed, refused, token: data?.token };
    }
    throw new Error("the watch ended");
  }

  const forget = async (name: string) => {
    for (const each of [name, "lively-wave"]) {
      await client.delete(Site, { name: each }).catch((error) => assert.ok(isNotFound(error)));
    }
  };

  test("the answer is the name of the other's Site, and the token is gone", async () => {
    const said = await answer(await ask((await issuer.mint()).text));
    assert.deepEqual(said, { redeemed: "harbour", refused: undefined, token: undefined });
    assert.equal((await client.get(Site, { name: "harbour" })).spec.mayConsume, false);
    await forget("harbour");
  });

  test("a name and both ways are done as asked", async () => {
    const name = await ask((await issuer.mint()).text, {
      [SITE_NAME_ANNOTATION]: "quay",
      [BOTH_WAYS_ANNOTATION]: "true",
    });
    assert.equal((await answer(name)).redeemed, "quay");
    assert.equal((await client.get(Site, { name: "quay" })).spec.mayConsume, true);
    const other = await ask((await issuer.mint()).text, { [SITE_NAME_ANNOTATION]: "pier" });
    assert.match((await answer(other)).refused ?? "", /known here as quay/);
    const own = await ask((await issuer.mint()).text, { [SITE_NAME_ANNOTATION]: "lively-wave" });
    assert.match((await answer(own)).refused ?? "", /lively-wave/);
    await forget("quay");
  });

  test("a token that is refused, or none at all, is answered with the reason", async () => {
    const expired = await answer(await ask((await issuer.mint({ ttlMs: -1_000 })).text));
    assert.match(expired.refused ?? "", /expired.*TokenExpired/);
    assert.match((await answer(await ask("nonsense"))).refused ?? "", /no pairing token/);
    assert.match((await answer(await ask(""))).refused ?? "", /no pairing token/);
  });

  test("an issuer that cannot be reached is asked until it can", async () => {
    let attempts = 0;
    const [endpoint = ""] = issuer.endpoints;
    const door = createServer((socket) => {
      socket.on("error", () => {});
      if (++attempts < 3) return socket.destroy();
      const behind = connect(Number(new URL(endpoint).port), "127.0.0.1");
      behind.on("error", () => socket.destroy());
      socket.pipe(behind).pipe(socket);
    }).listen(0, "127.0.0.1");
    await once(door, "listening");
    const endpoints = [`https://127.0.0.1:${(door.address() as AddressInfo).port}`];
    const name = await ask((await issuer.mint({ endpoints })).text);
    assert.equal((await answer(name)).redeemed, "harbour");
    assert.equal(attempts, 3);
    const { annotations } = (await client.get(Secret, { name, namespace: NAMESPACE })).metadata;
    assert.match(annotations?.[TRIED_ANNOTATION] ?? "", /cannot redeem the token at site .*cannot connect to https:/);
    door.close();
    await forget("harbour");
  });

  test("an issuer that cannot be reached until the token has expired is given up", async () => {
    const name = await ask((await issuer.mint({ endpoints: ["https://127.0.0.1:1"], ttlMs: 1_000 })).text);
    assert.match((await answer(name)).refused ?? "", /cannot redeem the token at site/);
  });

  test("what nobody came back for is removed after an hour", async () => {
    const name = await ask("nonsense");
    await answer(name);
    await stopAgent();
    stopAgent = startAgent(() => Date.now() + HOUR + 60_000);
    const { items, metadata } = await client.list(Secret, { namespace: NAMESPACE });
    const left = new Set(
      items.map((secret) => secret.metadata.name).filter((each) => each?.startsWith("fjord-redeem-")),
    );
    if (left.size === 0) return;
    for await (const event of client.watch(Secret, {
      namespace: NAMESPACE,
      resourceVersion: metadata.resourceVersion,
    })) {
      if (event.type === "DELETED") left.delete(event.object.metadata.name);
      if (left.size === 0) break;
    }
  });
});
