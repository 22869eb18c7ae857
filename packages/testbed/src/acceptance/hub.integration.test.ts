import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CONSUMER_LABEL, Link, Peering, Site as SiteKind } from "@fjord/api";
import { Deployment, getCondition, type KubeClient, Namespace, Pod } from "@fjord/kube";
import { Continuum, fjord } from "../agents/index.ts";
import { EchoPod, NetworkNamespaces } from "../namespaces/index.ts";
import { makeWire, SiteNetwork } from "../namespaces/site-network.ts";
import { networkSkip, startTestBed, testSubstrates } from "../testing.ts";
import { eventually } from "./acceptance-bed.ts";
import { answered, runGateway } from "./namespace-gateway.ts";
import { deployment, namespace } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
const HUB = "site-3";
const NAMES = [HOME, AWAY, HUB] as const;
/** Where each one's gateway is. */
const NODES: Readonly<Record<string, { name: string; address: string }>> = {
  [HOME]: { name: "a", address: "192.0.2.1" },
  [AWAY]: { name: "b", address: "192.0.2.2" },
  [HUB]: { name: "h", address: "192.0.2.3" },
};

const skip =
  process.env.FJORD_TEST_LINKS !== "1" ? "three sites take a minute: FJORD_TEST_LINKS=1 runs it" : networkSkip();

describe("two sites whose gateways cannot meet, and a third that both have links with", {
  skip,
  timeout: 300_000,
}, () => {
  const namespaces = new NetworkNamespaces();
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const clients: Record<string, KubeClient> = {};
  const ids: Record<string, string> = {};
  let continuum: Continuum;
  let here: EchoPod;
  let there: EchoPod;
  let shown: string;
  let native: string;

  before(async () => {
    const kubernetes = testSubstrates(["microkube"]);
    continuum = new Continuum(await startTestBed({ sites: 3, overlap: true, simulatedNodes: 1, kubernetes }));
    await continuum.startAgents();
    for (const name of NAMES) {
      clients[name] = continuum.client(name);
      const { podCidr } = continuum.site(name).layout;
      const endpoints = [`${NODES[name]?.address}:51820`];
      const network = { podRanges: [podCidr], endpoints };
      await at(name).patch(SiteKind, { name }, "merge", { spec: { network } });
      ids[name] = (await at(name).get(SiteKind, { name })).status?.id ?? "";
    }
    await continuum.share(AWAY);
    await continuum.share(HUB);
    for (const name of [HOME, AWAY]) await continuum.peer(name, HUB, "--cpu=1", "--memory=1Gi", "--pods=5", "--link");
    await continuum.peer(HOME, AWAY, "--cpu=8", "--memory=8Gi", "--pods=20", "--link", `--via=${HUB}`);
    await at(HOME).create(Namespace, namespace("shop") as Namespace);
    await fjord(continuum.site(HOME), "offload", "shop", `--selector=kubernetes.io/hostname=${AWAY}`, "--pods=Both");
    const web = deployment("web", { namespace: "shop", replicas: 2, spread: true });
    await at(HOME).create(Deployment, web as Deployment);
    const pods = await eventually("one pod runs here and one there", async () => {
      const { items } = await at(HOME).list(Pod, { namespace: "shop" });
      const isAway = items.filter(({ spec }) => spec?.nodeName === AWAY).length === 1;
      const isNamed = items.every(
        ({ spec, status }) => status?.podIP?.startsWith("240.") === (spec?.nodeName === AWAY),
      );
      return items.length === 2 && isAway && isNamed && items;
    });
    native = pods.find(({ spec }) => spec?.nodeName !== AWAY)?.status?.podIP ?? "";
    shown = pods.find(({ spec }) => spec?.nodeName === AWAY)?.status?.podIP ?? "";
    await makeWire(namespaces);
    const { items: guests } = await at(AWAY).list(Pod, { labelSelector: CONSUMER_LABEL });
    const pod: Record<string, string> = { [HOME]: native, [AWAY]: guests[0]?.status?.podIP ?? "" };
    for (const name of NAMES) {
      const { name: node = "", address = "" } = NODES[name] ?? {};
      const podRange = continuum.site(name).layout.podCidr;
      const network = await SiteNetwork.make(namespaces, { name: node, address, podRange });
      if (name !== HUB)
        await namespaces.ip("wan", "link", "set", "dev", node, "type", "bridge_slave", "isolated", "on");
      if (name === HOME) here = await EchoPod.start(namespaces, await network.addPod(pod[name] ?? ""));
      if (name === AWAY) there = await EchoPod.start(namespaces, await network.addPod(pod[name] ?? ""));
      running.push(runGateway(at(name), { node: network.gateway, signal: stop.signal }, namespaces));
    }
    for (const each of running) each.catch(() => {});
  });

  after(async () => {
    stop.abort();
    try {
      await Promise.all(running);
    } finally {
      // Pods there would else have this process go on for ever.
      await namespaces[Symbol.asyncDispose]();
      for (const client of Object.values(clients)) await client.close();
      await continuum?.[Symbol.asyncDispose]();
    }
  });

  const at = (name: string) => clients[name] as KubeClient;
  const linkOf = (name: string, peer: string) => at(name).get(Link, { name: ids[peer] ?? "" });
  const isUp = async (name: string, peer: string) =>
    getCondition((await linkOf(name, peer)).status?.conditions, "Ready")?.reason === "HandshakeSeen";

  it("agree on the way through it", async () => {
    await eventually("both Links say so", async () => {
      const links = await Promise.all([linkOf(HOME, AWAY), linkOf(AWAY, HOME)]);
      return links.every(({ spec }) => spec.via === ids[HUB]);
    });
  });

  it("have no link by it as long as its owner has not named them", async () => {
    for (const name of [HOME, AWAY]) await eventually(`${name} has a link with the hub`, () => isUp(name, HUB));
    assert.equal(await here.ask(shown, { proto: "udp", message: "early", patienceMs: 2_000 }), "nothing");
    assert.equal(await isUp(HOME, AWAY), false);
    assert.deepEqual(there.heard, []);
  });

  it("reach each other's pods by it once that has, and see them by their own names", async () => {
    const relays = [{ between: [HOME, AWAY] }];
    await at(HUB).patch(SiteKind, { name: HUB }, "merge", { spec: { network: { relays } } });
    const seen = await answered(here, shown);
    assert.match(seen, /^240\./);
    assert.equal(seen.split(".").slice(2).join("."), native.split(".").slice(2).join("."));
    assert.equal(await answered(there, seen), shown);
    assert.equal(await here.ask(shown, { message: "x*1000000" }), seen);
    await eventually("both Links are up", async () => (await isUp(HOME, AWAY)) && (await isUp(AWAY, HOME)));
    assert.match(
      await fjord(continuum.site(HOME), "network", "status", "-o=wide"),
      /site-2 .*HandshakeSeen.* via site-3 /,
    );
  });

  it("find that way by themselves where nobody has named it, and the direct one once that is there", async () => {
    await at(HOME).patch(Peering, { name: AWAY }, "merge", { spec: { via: null } });
    await eventually("both know of another way", async () => {
      const links = await Promise.all([linkOf(HOME, AWAY), linkOf(AWAY, HOME)]);
      return links.every(({ spec }) => spec.via === undefined && spec.fallback?.site === ids[HUB]);
    });
    await eventually("both go by it", async () => {
      await here.ask(shown, { proto: "udp", patienceMs: 500 });
      const links = await Promise.all([linkOf(HOME, AWAY), linkOf(AWAY, HOME)]);
      return links.every(({ status }) => status?.via === ids[HUB]);
    });
    const seen = await answered(here, shown);
    assert.match(seen, /^240\./);
    for (const name of [HOME, AWAY])
      await namespaces.ip(
        "wan",
        "link",
        "set",
        "dev",
        NODES[name]?.name ?? "",
        "type",
        "bridge_slave",
        "isolated",
        "off",
      );
    await eventually("they meet", async () => {
      const links = await Promise.all([linkOf(HOME, AWAY), linkOf(AWAY, HOME)]);
      return links.every(({ status }) => status?.via === undefined && status?.endpoint?.startsWith("192.0.2."));
    });
    assert.equal(await answered(here, shown), seen);
    // Gateways ask each other every second, and notice by themselves.
    for (const name of [HOME, AWAY])
      await namespaces.ip(
        "wan",
        "link",
        "set",
        "dev",
        NODES[name]?.name ?? "",
        "type",
        "bridge_slave",
        "isolated",
        "on",
      );
    await eventually("they go by the hub again", async () => (await linkOf(HOME, AWAY)).status?.via === ids[HUB]);
    assert.equal(await answered(here, shown), seen);
  });

  it("lose it when that takes its word back", async () => {
    await at(HUB).patch(SiteKind, { name: HUB }, "merge", { spec: { network: { relays: [] } } });
    await eventually("nothing comes", async () => {
      const answer = await here.ask(shown, { proto: "udp", message: "late", patienceMs: 500 });
      return answer === "nothing";
    });
  });
});
