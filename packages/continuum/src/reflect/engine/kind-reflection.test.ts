import assert from "node:assert/strict";
import { test } from "node:test";
import { CONSUMER_LABEL, MANAGED_LABEL, ORIGIN_NAMESPACE_LABEL, ORIGIN_UID_LABEL } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { type EventSink, KubeClient, PersistentVolumeClaim, SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import type { Home } from "../../home.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { Twins } from "../../twins.ts";
import { persistentVolumeClaims } from "../kinds/persistent-volume-claim.ts";
import { contextOf } from "../kinds/test-context.ts";
import type { ReflectionPolicy } from "../reflected-kind.ts";
import { KindReflection } from "./kind-reflection.ts";
import type { Policies } from "./policies.ts";
import { noCounters } from "./reflection-counters.ts";
import type { SiteReferences } from "./site-references.ts";

const SITE = "provider";
const lists = { on: { verb: "list", resource: "persistentvolumeclaims" }, times: Number.POSITIVE_INFINITY } as const;
const clientOf = ({ url }: FaultServer) =>
  new KubeClient({ server: url, namespace: "default", tls: {} }, { closeGraceMs: 0 });

/** The own claim of the name; gives its uid. */
function claim(home: FaultServer, metadata: object = {}): string {
  const made = home.create(PersistentVolumeClaim, { metadata: { name: "books", namespace: "shop", ...metadata } });
  return made.metadata.uid ?? "";
}

/** The twin of a claim, as it is at the provider. */
function twinFor(away: FaultServer, uid: string): string {
  const labels = {
    [CONSUMER_LABEL]: "consumer",
    [MANAGED_LABEL]: "reflect",
    [ORIGIN_NAMESPACE_LABEL]: "shop",
    [ORIGIN_UID_LABEL]: uid,
  };
  const spec = { resources: { requests: {} } };
  const twin = away.create(PersistentVolumeClaim, { metadata: { name: "books", namespace: "shop-1", labels }, spec });
  return twin.metadata.uid ?? "";
}

const twinAt = (away: FaultServer) => away.list(PersistentVolumeClaim)[0]?.metadata.uid;

/** Reflection of claims of namespace `shop` at a site, for as long as it is not disposed of. */
function reflecting(home: FaultServer, away: FaultServer, policy: () => ReflectionPolicy = () => "Referenced") {
  const [client, kube] = [clientOf(home), clientOf(away)];
  const means = { clock: systemClock, random: Math.random, logger: silentLogger };
  const caches = new SharedCaches({ ...means, client, timing: { backoffInitialMs: 10, backoffMaxMs: 50 } });
  const site = { id: SITE, kube, reachability: { reachable: true } } as unknown as RemoteSite;
  const twins: Twins = {
    twinOf: (_, namespace) => (namespace === "shop" ? "shop-1" : undefined),
    originOf: (_, twin) => (twin === "shop-1" ? "shop" : undefined),
    namespacesAt: () => ["shop"],
    sitesOf: () => [SITE],
    onChange: () => () => {},
  };
  const events: string[] = [];
  const recorder: EventSink = {
    event: ({ metadata }, { reason, message }) => void events.push(`${metadata.name} ${reason}: ${message}`),
  };
  const stop = new AbortController();
  const claims = new KindReflection<PersistentVolumeClaim>({
    home: { ...means, client, caches, identity: { id: "consumer" }, recorder } as unknown as Home,
    kind: persistentVolumeClaims,
    twins,
    sites: { get: () => site } as unknown as RemoteSites,
    policies: { of: policy } as unknown as Policies,
    references: { has: () => true } as unknown as SiteReferences,
    counters: noCounters,
    contextOf: (at, namespace) => contextOf({ site: at, namespace }),
    knowsPods: () => true,
    mayHaveTwin: () => true,
  });
  const running = [caches.run(stop.signal), claims.run(stop.signal)];
  const follow = () => claims.follow(new Set(["shop"]), new Set([SITE]));
  follow();
  return {
    claims,
    events,
    follow,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(running);
      await Promise.all([client.close(), kube.close()]);
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, "it did not come about");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a pod's claim may have the volume of an earlier one until its provider's claims are known, and that is gone", async () => {
  await using home = await FaultServer.start();
  await using away = await FaultServer.start();
  twinFor(away, "earlier");
  const uid = claim(home);
  away.fault({ type: "status", status: 503 }, lists);
  await using at = reflecting(home, away);
  await until(() => away.requests.count(lists.on) > 0 && at.claims.hasSources("shop"));
  assert.equal(at.claims.mayBeOfEarlier(SITE, "shop", "books"), true);
  away.heal();
  await until(() => !at.claims.mayBeOfEarlier(SITE, "shop", "books"));
  const [twin] = away.list(PersistentVolumeClaim);
  assert.ok(twin === undefined || twin.metadata.labels?.[ORIGIN_UID_LABEL] === uid);
});

test("a pod's claim may have the volume of an earlier one until the own claims are known", async () => {
  await using home = await FaultServer.start();
  await using away = await FaultServer.start();
  const twin = twinFor(away, claim(home));
  home.fault({ type: "status", status: 503 }, lists);
  await using at = reflecting(home, away);
  await until(() => home.requests.count(lists.on) > 0 && away.requests.count({ verb: "watch" }) > 0);
  assert.equal(at.claims.mayBeOfEarlier(SITE, "shop", "books"), true);
  home.heal();
  await until(() => !at.claims.mayBeOfEarlier(SITE, "shop", "books"));
  assert.equal(twinAt(away), twin);
});

test("a pod that comes before its claim may have the volume of the one that is gone", async () => {
  await using home = await FaultServer.start();
  await using away = await FaultServer.start();
  twinFor(away, "earlier");
  away.fault({ type: "status", status: 503 }, { on: { verb: "delete" }, times: Number.POSITIVE_INFINITY });
  await using at = reflecting(home, away);
  await until(() => away.requests.count({ verb: "delete" }) > 0);
  assert.equal(at.claims.mayBeOfEarlier(SITE, "shop", "books"), true);
  away.heal();
  await until(() => !at.claims.mayBeOfEarlier(SITE, "shop", "books"));
  assert.equal(twinAt(away), undefined);
});

test("claims that rules keep at home hold up no pods, whatever is known of them", async () => {
  await using home = await FaultServer.start();
  await using away = await FaultServer.start();
  away.fault({ type: "status", status: 503 }, lists);
  claim(home);
  await using at = reflecting(home, away, () => "Never");
  assert.equal(at.claims.mayBeOfEarlier(SITE, "shop", "books"), false);
});

test("a claim that is not to leave holds up no pods once it is known that nothing is in its place", async () => {
  await using home = await FaultServer.start();
  await using away = await FaultServer.start();
  claim(home, { annotations: { "fjord.dev/reflect": "false" } });
  await using at = reflecting(home, away);
  await until(() => !at.claims.mayBeOfEarlier(SITE, "shop", "books"));
  assert.deepEqual(away.list(PersistentVolumeClaim), []);
});

for (const [known, make] of [
  ["the claim of before", claim],
  ["no claim", () => undefined],
] as const)
  test(`the volume of a claim that another agent has had made stays where the own watch is behind, and shows ${known}`, async () => {
    await using home = await FaultServer.start();
    await using away = await FaultServer.start();
    make(home);
    home.fault({ type: "silence" }, { on: { verb: "watch" } });
    away.fault({ type: "status", status: 503 }, lists);
    await using at = reflecting(home, away);
    await until(() => home.requests.count({ verb: "watch" }) > 0);
    for (const { metadata } of home.list(PersistentVolumeClaim))
      home.delete(PersistentVolumeClaim, { name: metadata.name ?? "", namespace: "shop" });
    const twin = twinFor(away, claim(home));
    away.heal();
    await until(() => home.requests.count({ verb: "get" }) > 0 || twinAt(away) !== twin);
    at.claims.enqueueNamespace("shop");
    await until(() => home.requests.count({ verb: "get" }) > 1 || twinAt(away) !== twin);
    assert.equal(twinAt(away), twin);
    await home.restart();
    await until(() => at.claims.hasSources("shop") && !at.claims.mayBeOfEarlier(SITE, "shop", "books"));
    assert.equal(twinAt(away), twin);
    home.delete(PersistentVolumeClaim, { name: "books", namespace: "shop" });
    await until(() => twinAt(away) === undefined);
  });

test("a rule that keeps claims at home takes no volume that is there, which goes with its claim", async () => {
  await using home = await FaultServer.start();
  await using away = await FaultServer.start();
  claim(home);
  let policy: ReflectionPolicy = "Referenced";
  await using at = reflecting(home, away, () => policy);
  await until(() => twinAt(away) !== undefined);
  const twin = twinAt(away);
  policy = "Never";
  at.follow();
  at.claims.enqueueNamespace("shop");
  // What its twin tells is written to its status yet.
  const told = home.requests.count({ verb: "other" });
  away.update(PersistentVolumeClaim, { ...(away.list(PersistentVolumeClaim)[0] as PersistentVolumeClaim) });
  await until(() => home.requests.count({ verb: "other" }) > told || twinAt(away) !== twin);
  assert.equal(twinAt(away), twin);
  home.delete(PersistentVolumeClaim, { name: "books", namespace: "shop" });
  await until(() => twinAt(away) === undefined);
});

test("an object says that its provider refuses its kind, made before that or after, and gets its twin once it does not", async () => {
  await using home = await FaultServer.start();
  await using away = await FaultServer.start();
  claim(home);
  away.fault({ type: "status", status: 403 }, lists);
  await using at = reflecting(home, away);
  await until(() => at.events.length > 0);
  assert.match(at.events[0] ?? "", /^books ReflectionFailed: its twin at harbor is not as it should be: /);
  claim(home, { name: "films" });
  await until(() => at.events.some((event) => event.startsWith("films ReflectionFailed")));
  await until(() => away.requests.count(lists.on) > 8);
  assert.equal(at.events.length, 2, at.events.join("; "));
  away.heal();
  await until(() => away.list(PersistentVolumeClaim).length === 2);
});

test("an object says nothing of a provider that cannot answer", async () => {
  await using home = await FaultServer.start();
  await using away = await FaultServer.start();
  claim(home);
  away.fault({ type: "status", status: 503 }, lists);
  await using at = reflecting(home, away);
  await until(() => away.requests.count(lists.on) > 4);
  assert.deepEqual(at.events, []);
});
