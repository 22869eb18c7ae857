import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AddressPlan, CONSUMER_LABEL, Link, Peering, Site as SiteKind } from "@fjord/api";
import { Deployment, EndpointSlice, isNotFound, type KubeClient, Namespace, Pod, Service } from "@fjord/kube";
import { Continuum, fjord, fjordResult } from "../agents/index.ts";
import { EchoPod, NetworkNamespaces } from "../namespaces/index.ts";
import { makeWire, SiteNetwork } from "../namespaces/site-network.ts";
import { networkSkip, startTestBed, testSubstrates } from "../testing.ts";
import { eventually } from "./acceptance-bed.ts";
import { answered, runGateway } from "./namespace-gateway.ts";
import { deployment, namespace } from "./workloads.ts";

const HOME = "site-1";
const [ONE, OTHER] = ["site-2", "site-3"] as const;
const NAMES = [HOME, ONE, OTHER] as const;
/** Where each one's gateway is. */
const NODES: Readonly<Record<string, { name: string; address: string }>> = {
  [HOME]: { name: "c", address: "192.0.2.1" },
  [ONE]: { name: "p", address: "192.0.2.2" },
  [OTHER]: { name: "q", address: "192.0.2.3" },
};

const skip =
  process.env.FJORD_TEST_LINKS !== "1" ? "three sites take a minute: FJORD_TEST_LINKS=1 runs it" : networkSkip();

describe("guests of one consumer at two providers that have never heard of each other", {
  skip,
  timeout: 400_000,
}, () => {
  const namespaces = new NetworkNamespaces();
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const clients: Record<string, KubeClient> = {};
  const ids: Record<string, string> = {};
  const networks: Record<string, SiteNetwork> = {};
  /** By site: the pod of `web` that runs there, by its own address. */
  const echo: Record<string, EchoPod> = {};
  const real: Record<string, string> = {};
  let continuum: Continuum;

  before(async () => {
    const kubernetes = testSubstrates(["microkube"]);
    continuum = new Continuum(await startTestBed({ sites: 3, overlap: true, simulatedNodes: 1, kubernetes }));
    await continuum.startAgents();
    for (const name of NAMES) {
      clients[name] = continuum.client(name);
      const { podCidr } = continuum.site(name).layout;
      const network = { podRanges: [podCidr], endpoints: [`${NODES[name]?.address}:51820`] };
      await at(name).patch(SiteKind, { name }, "merge", { spec: { network } });
      ids[name] = (await at(name).get(SiteKind, { name })).status?.id ?? "";
    }
    for (const name of [ONE, OTHER]) {
      await continuum.share(name);
      await continuum.peer(HOME, name, "--cpu=8", "--memory=8Gi", "--pods=20", "--link");
    }
    await at(HOME).create(Namespace, namespace("shop") as Namespace);
    await fjord(continuum.site(HOME), "offload", "shop", "--pods=Both");
    await at(HOME).create(
      Deployment,
      deployment("web", { namespace: "shop", replicas: 3, spread: true }) as Deployment,
    );
    for (const [name, more] of [
      ["web", {}],
      ["headless", { clusterIP: "None" }],
    ] as const)
      await at(HOME).create(Service, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: "shop" },
        spec: { selector: { app: "web" }, ports: [{ port: 7000 }], ...more },
      } as Service);
    await at(HOME).create(Namespace, namespace("office") as Namespace);
    await fjord(continuum.site(HOME), "offload", "office", "--pods=Remote");
    for (const name of [ONE, OTHER])
      await at(HOME).create(
        Deployment,
        deployment(`desk-${name}`, { namespace: "office", replicas: 1, nodeName: name }) as Deployment,
      );
    await eventually("a pod runs at each", async () => {
      const nodes = (await pods()).filter(({ status }) => status?.podIP).map(({ spec }) => spec?.nodeName ?? "");
      return nodes.includes(ONE) && nodes.includes(OTHER) && nodes.length === 3;
    });
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
  const pods = async () => (await at(HOME).list(Pod, { namespace: "shop" })).items;
  const podAt = async (node: string) => (await pods()).find(({ spec }) => spec?.nodeName === node);
  const guestOf = async (name: string, ofNamespace = "shop") => {
    const { items } = await at(name).list(Pod, { labelSelector: CONSUMER_LABEL });
    return items.find(({ metadata, status }) => metadata.namespace?.startsWith(ofNamespace) && status?.podIP) as Pod;
  };
  const linkOf = (name: string, peer: string) => at(name).get(Link, { name: ids[peer] ?? "" });
  const planOf = (name: string, peer: string) => at(name).get(AddressPlan, { name: ids[peer] ?? "" });
  const isGone = async (name: string, peer: string) => {
    const found = await Promise.allSettled([planOf(name, peer), linkOf(name, peer)]);
    return found.every((each) => each.status === "rejected" && isNotFound(each.reason));
  };
  /** What one site calls the pod that runs at another. */
  const calledAt = async (name: string, where: string, address = real[where] ?? "") => {
    const called = (await planOf(name, where)).spec.peer[0]?.called ?? "";
    return [...called.split(".").slice(0, 2), ...address.split(".").slice(2)].join(".");
  };
  const isolate = async (state: "on" | "off") => {
    for (const name of [ONE, OTHER])
      await namespaces.ip(
        "wan",
        "link",
        "set",
        "dev",
        NODES[name]?.name ?? "",
        "type",
        "bridge_slave",
        "isolated",
        state,
      );
  };

  it("are introduced: each provider has names for the other, and a link for these guests alone", async () => {
    for (const name of NAMES.slice(1)) real[name] = (await guestOf(name)).status?.podIP ?? "";
    real[HOME] =
      (await pods()).find(({ spec }) => spec?.nodeName !== ONE && spec?.nodeName !== OTHER)?.status?.podIP ?? "";
    for (const [name, other] of [
      [ONE, OTHER],
      [OTHER, ONE],
    ] as const) {
      const link = await eventually(`${name} has a link with ${other}`, async () => {
        const found = await linkOf(name, other).catch(() => undefined);
        return found !== undefined && found.spec.groups.length === 2 && found.spec.fallback !== undefined && found;
      });
      const { spec } = await planOf(name, other);
      assert.deepEqual([spec.introducedBy, spec.scope], [[ids[HOME]], "Guests"]);
      assert.match(
        spec.peer[0]?.called ?? "",
        /^240\./,
        "a site that nobody here has met is never called what it says",
      );
      const twin = (await guestOf(name)).metadata.namespace;
      const group = link.spec.groups.find((each) => each.name === twin);
      assert.deepEqual(group, { name: twin, local: [real[name]], remote: [await calledAt(name, other)] });
      assert.deepEqual(link.spec.endpoints, [`${NODES[other]?.address}:51820`]);
      assert.equal(link.spec.fallback?.site, ids[HOME]);
    }
  });

  it("are endpoints of Services there, each by the name that works there", async () => {
    for (const [name, other] of [
      [ONE, OTHER],
      [OTHER, ONE],
    ] as const) {
      const twin = (await guestOf(name)).metadata.namespace ?? "";
      for (const service of ["web", "headless"])
        await eventually(`${service} at ${name} has all three`, async () => {
          const labelSelector = `kubernetes.io/service-name=${service}`;
          const { items } = await at(name).list(EndpointSlice, { namespace: twin, labelSelector });
          const found = items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses));
          const wanted = [real[name], await calledAt(name, HOME), await calledAt(name, other)];
          return found.length === 3 && wanted.every((address) => found.includes(address ?? ""));
        });
    }
  });

  it("meet, and see each other by these names", async () => {
    await makeWire(namespaces);
    for (const name of NAMES) {
      const { name: node = "", address = "" } = NODES[name] ?? {};
      const podRange = continuum.site(name).layout.podCidr;
      const network = await SiteNetwork.make(namespaces, { name: node, address, podRange });
      networks[name] = network;
      echo[name] = await EchoPod.start(namespaces, await network.addPod(real[name] ?? ""));
      running.push(runGateway(at(name), { node: network.gateway, signal: stop.signal }, namespaces));
    }
    for (const each of running) each.catch(() => {});
    const pairs = NAMES.flatMap((from) => NAMES.filter((to) => to !== from).map((to) => [from, to] as const));
    for (const [from, to] of pairs)
      assert.equal(
        await answered(echo[from] as EchoPod, await calledAt(from, to)),
        await calledAt(to, from),
        `${from} to ${to}`,
      );
    await eventually("the two providers have met", async () => {
      const [one, other] = [await linkOf(ONE, OTHER), await linkOf(OTHER, ONE)];
      return (
        one.status?.endpoint?.startsWith("192.0.2.3:") === true &&
        other.status?.endpoint?.startsWith("192.0.2.2:") === true
      );
    });
  });

  it("and nobody else does: neither a stranger beside them, nor one who takes a guest's address elsewhere", async () => {
    const heardBefore = echo[ONE]?.heard.length ?? 0;
    const address = continuum.site(OTHER).layout.podCidr.replace(/\.0\.0\/16$/, ".201.7");
    const stranger = await EchoPod.start(namespaces, (await networks[OTHER]?.addPod(address)) ?? "");
    const target = await calledAt(OTHER, ONE);
    assert.equal(await stranger.ask(target, { proto: "udp", message: "forbidden", patienceMs: 1_500 }), "nothing");
    const ask = (pod: EchoPod, to: string) => pod.ask(to, { proto: "udp", message: "forbidden", patienceMs: 1_500 });
    assert.equal(await ask(echo[ONE] as EchoPod, await calledAt(ONE, OTHER, address)), "nothing");
    // Guests of another namespace have links too, and each its own.
    const desks = {
      one: (await guestOf(ONE, "office")).status?.podIP ?? "",
      other: (await guestOf(OTHER, "office")).status?.podIP ?? "",
    };
    const one = await EchoPod.start(namespaces, (await networks[ONE]?.addPod(desks.one)) ?? "");
    const other = await EchoPod.start(namespaces, (await networks[OTHER]?.addPod(desks.other)) ?? "");
    assert.equal(await answered(one, await calledAt(ONE, OTHER, desks.other)), await calledAt(OTHER, ONE, desks.one));
    const heardThere = other.heard.length;
    assert.equal(await ask(one, await calledAt(ONE, OTHER)), "nothing");
    assert.equal(await ask(echo[ONE] as EchoPod, await calledAt(ONE, OTHER, desks.other)), "nothing");
    assert.equal(other.heard.length, heardThere);
    assert.equal(echo[ONE]?.heard.length, heardBefore);
    assert.deepEqual(stranger.heard, []);
  });

  it("are explained by the consumer, which sees their names and not their gateways", async () => {
    const [from, to] = [await podAt(ONE), await podAt(OTHER)];
    const { stdout } = await fjordResult(
      continuum.site(HOME),
      "network",
      "explain",
      from?.metadata.name ?? "",
      to?.metadata.name ?? "",
      "--namespace=shop",
    );
    assert.match(stdout, new RegExp(`source ${real[ONE]} becomes ${await calledAt(OTHER, ONE)}`));
    assert.match(stdout, new RegExp(`destination ${await calledAt(ONE, OTHER)} becomes ${real[OTHER]}`));
    assert.match(stdout, /introduced by this site/);
    assert.match(
      await fjord(continuum.site(ONE), "network", "status"),
      new RegExp(`${ids[OTHER]}.*introduced by site-1`),
    );
  });

  it("go through the consumer when the two cannot meet, and find each other again", async () => {
    await isolate("on");
    const [from, to] = [echo[ONE] as EchoPod, await calledAt(ONE, OTHER)];
    await eventually("they go by it", async () => {
      await from.ask(to, { proto: "udp", patienceMs: 500 });
      const links = await Promise.all([linkOf(ONE, OTHER), linkOf(OTHER, ONE)]);
      return links.every(({ status }) => status?.via === ids[HOME]);
    });
    assert.equal(await answered(from, to), await calledAt(OTHER, ONE));
    await isolate("off");
    await eventually("they meet", async () => {
      const links = await Promise.all([linkOf(ONE, OTHER), linkOf(OTHER, ONE)]);
      return links.every(({ status }) => status?.via === undefined && status?.endpoint?.startsWith("192.0.2."));
    });
    assert.equal(await answered(from, to), await calledAt(OTHER, ONE));
  });

  it("keep their links while all agents die, and have new guests in them afterwards", async () => {
    const [plans, links] = [
      await Promise.all([planOf(ONE, OTHER), planOf(OTHER, ONE)]),
      await Promise.all([linkOf(ONE, OTHER), linkOf(OTHER, ONE)]),
    ];
    for (const name of NAMES) await continuum.agent(name).process.kill();
    for (const name of [ONE, OTHER]) await continuum.agent(name).process.start();
    await eventually("the providers' agents are back", async () => {
      const found = await Promise.all([ONE, OTHER].map((name) => at(name).get(SiteKind, { name })));
      return found.every(({ status }) => status !== undefined);
    });
    assert.equal(await answered(echo[ONE] as EchoPod, await calledAt(ONE, OTHER)), await calledAt(OTHER, ONE));
    await continuum.agent(HOME).process.start();
    await at(HOME).patch(Deployment, { name: "web", namespace: "shop" }, "merge", { spec: { replicas: 6 } });
    await eventually("new guests are in the links", async () => {
      const [one, other] = await Promise.all([linkOf(ONE, OTHER), linkOf(OTHER, ONE)]);
      return [one, other].every(({ spec: { groups } }) =>
        groups.some(({ local, remote }) => local.length === 2 && remote.length === 2),
      );
    });
    const now = await Promise.all([planOf(ONE, OTHER), planOf(OTHER, ONE)]);
    assert.deepEqual(
      now.map(({ metadata, spec }) => [metadata.uid, spec]),
      plans.map(({ metadata, spec }) => [metadata.uid, spec]),
    );
    const after = await Promise.all([linkOf(ONE, OTHER), linkOf(OTHER, ONE)]);
    assert.deepEqual(
      after.map(({ metadata, spec }) => [metadata.uid, spec.publicKey, spec.endpoints]),
      links.map(({ metadata, spec }) => [metadata.uid, spec.publicKey, spec.endpoints]),
    );
  });

  it("no longer meet where an owner refuses, and the consumer leads nobody there", async () => {
    await at(OTHER).patch(SiteKind, { name: OTHER }, "merge", { spec: { network: { introductions: "Refuse" } } });
    for (const [name, other] of [
      [ONE, OTHER],
      [OTHER, ONE],
    ] as const)
      await eventually(`${name} has nothing of ${other}`, () => isGone(name, other));
    await eventually("the consumer leads nobody there", async () =>
      (await Promise.all([linkOf(HOME, ONE), linkOf(HOME, OTHER)])).every(({ spec }) => spec.relayTo === undefined),
    );
    const twin = (await guestOf(ONE)).metadata.namespace ?? "";
    await eventually("Services at the one have no endpoints at the other", async () => {
      const labelSelector = "kubernetes.io/service-name=web";
      const { items } = await at(ONE).list(EndpointSlice, { namespace: twin, labelSelector });
      return items.flatMap(({ endpoints }) => endpoints ?? []).length === 4;
    });
    await at(OTHER).patch(SiteKind, { name: OTHER }, "merge", { spec: { network: { introductions: "Accept" } } });
    await eventually("they meet again", async () =>
      (await linkOf(ONE, OTHER).catch(() => undefined))?.spec.groups.some(({ remote }) => remote.length > 0),
    );
  });

  it("have nothing of it left when the consumer wants no link with one of the two", async () => {
    await at(HOME).patch(Peering, { name: OTHER }, "merge", { spec: { link: false } });
    for (const [name, other] of [
      [ONE, OTHER],
      [OTHER, ONE],
      [OTHER, HOME],
    ] as const)
      await eventually(`${name} has nothing of ${other}`, () => isGone(name, other));
    assert.notEqual((await linkOf(ONE, HOME)).spec.groups.length, 0);
  });
});
