import assert from "node:assert/strict";
import { it } from "node:test";
import { AddressPlan, Link, newObject } from "@fjord/api";
import { EndpointSlice, type KubeClient, Pod } from "@fjord/kube";
import type { SiteNetwork } from "../site-network.ts";
import { trialRows } from "./trial-rows.ts";

const OWN = "a".repeat(26);
const PEER = "b".repeat(26);
const range = "10.42.0.0/16";
const spec = { site: PEER, own: [{ range, called: "241.9.0.0/16" }], peer: [{ range, called: "240.0.0.0/16" }] };
const plan = newObject(AddressPlan, { metadata: { name: PEER }, spec });
const groups = [{ name: "shop", local: ["10.42.0.7"], remote: ["240.0.3.9"] }];
const link = newObject(Link, { metadata: { name: PEER }, spec: { site: PEER, publicKey: "k", endpoints: [], groups } });
const pod = (name: string, podIP: string) =>
  ({ metadata: { name, namespace: "shop" }, spec: {}, status: { podIP, phase: "Running" } }) as Pod;
const slice = {
  metadata: { labels: { "kubernetes.io/service-name": "web" } },
  endpoints: [{ addresses: ["240.0.3.9"] }],
  ports: [{ port: 8080 }],
};
const client = {
  list: async (kind: unknown) => ({
    items: kind === Pod ? [pod("here", "10.42.0.7"), pod("there", "240.0.3.9")] : kind === EndpointSlice ? [slice] : [],
  }),
  get: async () => ({ metadata: {}, spec: { ports: [{ port: 80 }] } }),
} as unknown as KubeClient;
const places = { sites: [], virtualNodes: [], contracts: [], peerings: [] };
const network = { client, id: OWN, name: "harbor", nameOf: () => "wave", places, plans: [plan], links: [link] };

it("is no outcome that somebody interrupts pods that ask each other", async () => {
  const interrupt = new AbortController();
  const run = async () => {
    interrupt.abort(new Error("interrupted"));
    throw interrupt.signal.reason;
  };
  const means = { client, network: network as unknown as SiteNetwork, others: [], run, signal: interrupt.signal };
  await assert.rejects(trialRows([plan], means), /^Error: interrupted$/);
});
