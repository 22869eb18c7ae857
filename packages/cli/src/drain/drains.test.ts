import assert from "node:assert/strict";
import { test } from "node:test";
import { Contract } from "@fjord/api";
import { ApiError, type KubeClient, Node, Pod } from "@fjord/kube";
import { drainsOf } from "./drains.ts";

const contract = (name: string, standing: string, status: object = {}) => ({
  metadata: { name },
  spec: { standing, terms: { consumer: "a", provider: "b" } },
  status: {
    side: "Provider",
    phase: "Active",
    conditions: [{ type: "Active", status: "False", reason: "Drained" }],
    ...status,
  },
});
const contracts = [
  contract("c-1", "Drained"),
  contract("c-2", "Open", { peerStanding: "Drained" }),
  contract("c-3", "Open"),
  contract("c-4", "Drained", { phase: "Ended" }),
] as unknown as Contract[];
const guest = { metadata: { name: "web", namespace: "shop", annotations: { "fjord.dev/contract": "c-1" } } };
const signal = new AbortController().signal;
const client = (pods: () => object[]) =>
  ({
    list: async (kind: unknown) => ({ items: kind === Contract ? contracts : kind === Pod ? pods() : [] }),
    get: async (kind: unknown) => assert.notEqual(kind, Node),
  }) as unknown as KubeClient;

test("contracts that either side wants empty are told of, with what is left", async () => {
  const why = "the consumer evicts them as its disruption budgets let it, and half a minute later they are ended here";
  assert.deepEqual(
    await drainsOf(
      client(() => [guest]),
      contracts,
      0,
      signal,
    ),
    [
      { contract: "c-1", done: false, progress: `1 pod left: shop/web; ${why}` },
      { contract: "c-2", done: true, progress: "no pod is left" },
    ],
  );
});

test("who may not look at pods is told that, and sees the rest", async () => {
  const forbidden = client(() => {
    throw new ApiError({ action: "list pods", statusCode: 403, text: "forbidden" });
  });
  const [first] = await drainsOf(forbidden, contracts, 0, signal);
  assert.deepEqual(first, {
    contract: "c-1",
    done: false,
    progress: "unknown: you may not look at pods and nodes of the whole site",
  });
});
