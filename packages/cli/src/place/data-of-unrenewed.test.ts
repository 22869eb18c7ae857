import assert from "node:assert/strict";
import { test } from "node:test";
import { Contract, Offloading, Peering, type Site } from "@fjord/api";
import { type KubeClient, PersistentVolumeClaim } from "@fjord/kube";
import { dataOfUnrenewed } from "./data-of-unrenewed.ts";

const site = { metadata: { name: "wave" }, spec: { id: "w" } } as unknown as Site;
const peering = (name: string, renew: boolean) =>
  ({ metadata: { name }, spec: { site: "wave", renew }, status: { contract: "c-1" } }) as Peering;
const claim = {
  metadata: { name: "data", namespace: "shop" },
  status: { conditions: [{ type: "fjord.dev/w", status: "True" }] },
};

function told(others: readonly Peering[], { isChanging = false, claims = [claim] as readonly object[] } = {}) {
  const own = peering("wave", false);
  const items = new Map<unknown, readonly object[]>([
    [Peering, [own, ...others]],
    [Offloading, [{ metadata: { namespace: "shop" } }]],
    [PersistentVolumeClaim, claims],
  ]);
  const client = {
    list: async (kind: unknown) => ({ items: items.get(kind) }),
    get: async (kind: unknown, { name }: { name: string }) =>
      kind === Contract && name === "c-1" ? { spec: { terms: { notAfter: "2030-01-01T00:00:00Z" } } } : assert.fail(),
  } as unknown as KubeClient;
  return dataOfUnrenewed(client, own, site, { isChanging, signal: AbortSignal.timeout(60_000) });
}

test("who has a contract end by itself is told which volumes end with it, and when", async () => {
  const lost =
    /^volumes at wave are deleted .* when the contract ends at 2030-01-01T00:00:00Z: those of the claims shop\/data\./;
  assert.match((await told([])) ?? "", lost);
  assert.match((await told([peering("second", false)])) ?? "", lost, "that one ends too");
  assert.equal(await told([], { claims: [] }), undefined);
});

test("volumes stay while another contract with their site is renewed", async () => {
  assert.equal(await told([peering("second", true)]), undefined);
});

test("of a contract that other amounts replace no end is told", async () => {
  assert.match((await told([], { isChanging: true })) ?? "", /when the contract ends \(`fjord status` says when\)/);
});
