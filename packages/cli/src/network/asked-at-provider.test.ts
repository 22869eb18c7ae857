import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, type Contract, newObject, Site, VirtualNode } from "@fjord/api";
import { type KubeClient, Namespace, NetworkPolicy, type Pod } from "@fjord/kube";
import { answerOf, inWords } from "./explain.ts";
import type { SiteNetwork } from "./site-network.ts";

const signal = new AbortController().signal;
const HARBOR = "a".repeat(26);
const SMOKE = "b".repeat(26);
const WOOD = "c".repeat(26);

const pod = (name: string, podIP: string, nodeName: string, namespace = "shop", app = name): Pod =>
  ({
    metadata: { name, namespace, labels: { app } },
    spec: { nodeName },
    status: { phase: "Running", podIP },
  }) as never;
const policy = {
  metadata: { name: "front", namespace: "shop" },
  spec: {
    podSelector: { matchLabels: { app: "front" } },
    ingress: [{ from: [{ podSelector: { matchLabels: { app: "api" } } }] }],
  },
} as unknown as NetworkPolicy;

/** An API that has some pods, and policies. */
const api = (pods: readonly Pod[], policies: readonly NetworkPolicy[]): KubeClient =>
  ({
    list: async (kind: unknown, { fieldSelector = "" }: { fieldSelector?: string }) => {
      if (kind === NetworkPolicy) return { items: policies };
      return { items: pods.filter(({ status }) => fieldSelector === `status.podIP=${status?.podIP}`) };
    },
    get: async (kind: unknown, { name }: { name: string }) => {
      assert.equal(kind, Namespace);
      return { metadata: { name } };
    },
  }) as unknown as KubeClient;

const names: Readonly<Record<string, string>> = { [HARBOR]: "harbor", [SMOKE]: "smoke", [WOOD]: "wood" };
const siteNetwork = (id: string, client: KubeClient, plans: readonly AddressPlan[]): SiteNetwork => {
  const sites = Object.entries(names).map(([other, name]) => ({
    ...newObject(Site, { metadata: { name } }),
    status: { id: other, ...(other === id && { role: "Self" as const }) },
  }));
  const virtualNodes = [SMOKE, WOOD].map((provider) => ({
    ...newObject(VirtualNode, { metadata: { name: names[provider] as string }, spec: { contract: "c" } } as never),
    status: { provider },
  }));
  const places = { sites, virtualNodes: id === HARBOR ? virtualNodes : [], contracts: [] as Contract[], peerings: [] };
  const nameOf = (other: string | undefined) => names[other ?? ""];
  const parts = { nameOf, reachable: () => true, plans, links: [], faults: new Map(), ranges: [] };
  return { id, name: names[id] as string, client, places, ...parts } as unknown as SiteNetwork;
};
const plan = (site: string, own: [string, string][], peer: [string, string][]): AddressPlan => {
  const namings = (all: [string, string][]) => all.map(([range, called]) => ({ range, called }));
  const spec = { site, carrier: "Proxy" as const, own: namings(own), peer: namings(peer) };
  return newObject(AddressPlan, { metadata: { name: site }, spec });
};

describe("a way that is asked for at a provider whose agent carries", () => {
  // Harbor's own pods are in 127.1.0, its names for smoke's in 127.1.128, for wood's in 127.1.132. Smoke calls them 127.2.128, and wood's 127.2.132.
  const harbor = siteNetwork(
    HARBOR,
    api(
      [
        pod("rush", "127.1.0.1", "here"),
        pod("api", "127.1.0.2", "here"),
        pod("front", "127.1.128.7", "smoke"),
        pod("front-2", "127.1.132.7", "wood", "shop", "front"),
      ],
      [policy],
    ),
    [
      plan(SMOKE, [["127.1.0.0/22", "127.2.128.0/22"]], [["127.2.0.0/22", "127.1.128.0/22"]]),
      plan(WOOD, [["127.1.0.0/22", "127.3.128.0/22"]], [["127.3.0.0/22", "127.1.132.0/22"]]),
    ],
  );
  const front = pod("front", "127.2.0.7", "here", "shop-x7d");
  const smoke = siteNetwork(SMOKE, api([front], []), [
    plan(
      HARBOR,
      [["127.2.0.0/22", "127.1.128.0/22"]],
      [
        ["127.1.0.0/22", "127.2.128.0/22"],
        ["127.1.132.0/22", "127.2.132.0/22"],
      ],
    ),
  ]);
  const own = { title: "pod shop-x7d/front", site: SMOKE, address: "127.2.0.7", pod: front };
  const client = (address: string) => ({ title: address, site: HARBOR, address });
  const ask = (from: string, peer: SiteNetwork | undefined, ...ends: object[]) =>
    answerOf(smoke, peer, client(from), { ends: ends as never }, signal);

  it("is what the consumer knows of it, where that may be asked", async () => {
    const dropped = await ask("127.2.128.1", harbor, own);
    assert.equal(dropped.verdict, "Dropped");
    assert.match(dropped.from, /^127\.2\.128\.1, pod shop\/rush of harbor$/);
    assert.equal(dropped.paths[0]?.hops.at(-1)?.rule, "NetworkPolicy shop/front");
    assert.equal((await ask("127.2.128.2", harbor, own)).verdict, "Delivered");
  });

  it("is known of endpoints at third sites too", async () => {
    const third = client("127.2.132.7");
    assert.equal((await ask("127.2.128.1", harbor, third)).verdict, "Dropped");
    const answer = await ask("127.2.128.2", harbor, third);
    assert.equal(answer.verdict, "Delivered");
    assert.ok(answer.paths[0]?.hops.some(({ site, at }) => site === "wood" && at === "agent"));
  });

  it("is not claimed where the consumer may not be asked", async () => {
    const plain = (_: string, text: string) => text;
    for (const end of [own, client("127.2.132.7")]) {
      const answer = await ask("127.2.128.1", undefined, end);
      assert.equal(answer.verdict, "Unknown");
      assert.match(inWords(answer, plain), /only the API of harbor knows; name its context by --peer-context/);
    }
  });
});
