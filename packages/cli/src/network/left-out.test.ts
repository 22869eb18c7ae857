import assert from "node:assert/strict";
import { it } from "node:test";
import { AddressPlan, Link, newObject } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { leftOutOf } from "./left-out.ts";

it("tells of endpoints that nothing is sent to, and of the link that is to blame", () => {
  const plan = (site: string, called: string, carrier?: "Proxy") =>
    newObject(AddressPlan, {
      metadata: { name: site },
      spec: { site, own: [], peer: [{ range: "10.42.0.0/16", called }], ...(carrier && { carrier }) },
    });
  const silent = { type: "Ready", status: "False", reason: "Silent", message: "", lastTransitionTime: "" } as const;
  const spec = { site: "w", publicKey: "k", endpoints: [], groups: [] };
  const link = { ...newObject(Link, { metadata: { name: "w" }, spec }), status: { conditions: [silent] } };
  const network = {
    id: "h",
    places: { sites: [], virtualNodes: [], contracts: [], peerings: [] },
    plans: [plan("w", "240.0.0.0/16"), plan("r", "240.1.0.0/16"), plan("m", "240.2.0.0/16", "Proxy")],
    links: [link],
    ranges: ["10.42.0.0/16"],
    nameOf: (id: string | undefined) => ({ w: "wave", r: "reef", m: "micro" })[id ?? ""],
    reachable: (id: string) => id !== "m",
  };
  const endpoint = (address: string, ready: boolean | undefined) => ({
    addresses: [address],
    conditions: ready === undefined ? {} : { ready },
  });
  const pods = [{ metadata: { name: "web", namespace: "shop" }, status: { podIP: "10.42.0.7" } } as Pod];
  const addresses = ["240.0.3.9", "240.1.3.9", "240.2.3.9", "10.42.0.7"];
  const endpoints = [endpoint("10.42.0.8", true), endpoint("10.42.0.9", undefined)];
  const slice = { endpoints: [...endpoints, ...addresses.map((each) => endpoint(each, false))] };
  assert.deepEqual(leftOutOf([slice, slice], pods, network), [
    { to: "240.0.3.9", reason: "it is not ready, as the link with wave has fallen silent" },
    { to: "240.1.3.9", reason: "it is not ready, at reef" },
    { to: "240.2.3.9", reason: "it is not ready, and micro does not answer" },
    { to: "pod shop/web", reason: "it is not ready" },
  ]);
});
