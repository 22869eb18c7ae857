import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, OFFLOADING_NAME, Offloading } from "@fjord/api";
import type { SharedCaches } from "@fjord/kube";
import { KnownTwins } from "./known-twins.ts";

const [NORTH, SOUTH] = ["a".repeat(26), "b".repeat(26)];

interface Handler {
  onAdd(object: Offloading): void;
  onUpdate(before: Offloading, object: Offloading): void;
  onDelete(object: Offloading): void;
}

function known() {
  const handlers: Handler[] = [];
  const cache = { addHandler: (given: Handler) => void handlers.push(given) };
  const twins = new KnownTwins({ open: () => ({ cache }) } as unknown as SharedCaches);
  const news: string[] = [];
  twins.onChange((site, namespace) => void news.push(`${site === NORTH ? "north" : "south"} ${namespace}`));
  return { twins, news, tell: handlers[0] as Handler };
}

type Site = NonNullable<NonNullable<Offloading["status"]>["sites"]>[number];
const site = (id: string, status: string, reason: string, twin?: string) =>
  ({
    site: id,
    ...(twin && { twin }),
    conditions: [{ type: "Ready", status, reason, message: "so it is" }],
  }) as unknown as Site;
const shop = (...sites: Site[]): Offloading => ({
  ...newObject(Offloading, { metadata: { name: OFFLOADING_NAME, namespace: "shop" } }),
  status: { sites },
});

test("twins are known once they can be used, and why there is none once a site has said so", () => {
  const { twins, news, tell } = known();
  const first = shop(site(NORTH, "False", "AwaitingTwin"), site(SOUTH, "False", "AwaitingTwin"));
  tell.onAdd(first);
  assert.deepEqual([twins.sitesOf("shop"), twins.lackOf(NORTH, "shop"), news], [[], undefined, []]);
  const second = shop(site(NORTH, "True", "TwinReady", "shop-x"), site(SOUTH, "False", "NameRefused"));
  tell.onUpdate(first, second);
  assert.deepEqual([twins.twinOf(NORTH, "shop"), twins.originOf(NORTH, "shop-x")], ["shop-x", "shop"]);
  assert.equal(twins.lackOf(SOUTH, "shop"), "NameRefused: so it is");
  assert.deepEqual(news.splice(0), ["north shop", "south shop"], "pods that wait there hear of both");
  tell.onUpdate(second, second);
  assert.deepEqual(news, [], "and not again");
  tell.onDelete(second);
  assert.deepEqual([twins.sitesOf("shop"), twins.lackOf(SOUTH, "shop")], [[], undefined]);
});

test("a twin at a site that does not answer is still the twin", () => {
  const { twins, tell } = known();
  tell.onAdd(shop(site(NORTH, "Unknown", "SiteUnreachable", "shop-x")));
  assert.deepEqual([twins.twinOf(NORTH, "shop"), twins.lackOf(NORTH, "shop")], ["shop-x", undefined]);
});
