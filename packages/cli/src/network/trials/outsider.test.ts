import assert from "node:assert/strict";
import { it } from "node:test";
import { AddressPlan, Link, newObject, Site, VirtualNode } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { type TriedNetwork, whyInside } from "./outsider.ts";

const [HARBOR, WAVE] = ["a".repeat(26), "b".repeat(26)];
const range = "10.42.0.0/16";
const pod = (podIP: string, nodeName = "here"): Pod =>
  ({ metadata: { name: "x", namespace: "shop" }, spec: { nodeName }, status: { phase: "Running", podIP } }) as Pod;
const groups = [
  { name: "shop", local: ["10.42.0.7"], remote: ["240.0.3.9"] },
  { name: "fjord.dev/imports/bank", local: ["10.42.0.9"], remote: ["240.77.0.7"] },
];
const spec = { site: WAVE, publicKey: "k", endpoints: [], groups, machines: ["192.168.7.0/24"] };
const site = (name: string, id: string, role: "Self" | "Peer") =>
  ({ ...newObject(Site, { metadata: { name } }), status: { id, role } }) as Site;
const virtualNode = {
  ...newObject(VirtualNode, { metadata: { name: "wave" }, spec: { contract: "c" } } as never),
  status: { provider: WAVE },
};
const network: TriedNetwork = {
  id: HARBOR,
  name: "harbor",
  nameOf: () => "wave",
  places: {
    sites: [site("harbor", HARBOR, "Self"), site("wave", WAVE, "Peer")],
    virtualNodes: [virtualNode as VirtualNode],
    contracts: [],
    peerings: [],
  },
  plans: [newObject(AddressPlan, { metadata: { name: WAVE }, spec: { site: WAVE, own: [{ range }], peer: [] } })],
  links: [newObject(Link, { metadata: { name: WAVE }, spec })],
};

it("is no pod that may use a link that is tried: by a group, or as a machine", () => {
  assert.match(whyInside(pod("10.42.0.7"), false, network) ?? "", /may use the link with wave \(group shop\)/);
  assert.match(whyInside(pod("10.42.0.9"), false, network) ?? "", /\(group fjord\.dev\/imports\/bank\)/);
  assert.match(whyInside(pod("192.168.7.4"), false, network) ?? "", /machine .*may use the link with wave/);
  assert.equal(whyInside(pod("10.42.0.8"), false, network), undefined);
  assert.equal(whyInside(pod("10.42.0.7"), false, { ...network, plans: [] }), undefined, "another link is tried");
});

it("is no pod that runs elsewhere, which no link is in the way of", () => {
  assert.match(whyInside(pod("240.0.3.8", "wave"), false, network) ?? "", /^it runs at wave/);
});

it("is no pod of an offloaded namespace where agents carry", () => {
  const plans = network.plans.map((plan) => ({ ...plan, spec: { ...plan.spec, carrier: "Proxy" as const } }));
  const carried = { ...network, plans, links: [] };
  assert.match(whyInside(pod("127.88.0.7"), true, carried) ?? "", /namespace shop is offloaded/);
  assert.equal(whyInside(pod("127.88.0.7"), false, carried), undefined);
});
