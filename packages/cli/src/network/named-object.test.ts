import assert from "node:assert/strict";
import { test } from "node:test";
import { describeError } from "@fjord/base";
import { ApiError, type KubeClient, Namespace, Pod, Service } from "@fjord/kube";
import { podText } from "./end-text.ts";
import { namedObject } from "./named-object.ts";
import { pathEnds } from "./path-ends.ts";
import type { SiteNetwork } from "./site-network.ts";
import { outsiderOf } from "./trials/outsider.ts";

const signal = new AbortController().signal;
const refused = () =>
  new ApiError({
    action: "get",
    statusCode: 404,
    status: { kind: "Status", reason: "NotFound", message: "not found" },
  });
const named = (name: string, namespace?: string) => ({ metadata: { name, namespace }, status: { phase: "Pending" } });

/** With pod db-0 and Service billing-db in namespace shop. */
const client = {
  namespace: "default",
  list: async (kind: unknown, { namespace, fieldSelector }: { namespace?: string; fieldSelector?: string }) => {
    if (kind === Namespace) return { items: [named("default"), named("shop")] };
    const there = kind === Pod ? "db-0" : kind === Service ? "billing-db" : "";
    const isAsked = namespace === undefined && fieldSelector === `metadata.name=${there}`;
    return { items: isAsked ? [named(there, "shop")] : [] };
  },
  get: async (kind: unknown, { name, namespace }: { name: string; namespace: string }) => {
    if (kind === Pod && name === "db-0" && namespace === "shop") return named(name, namespace);
    throw refused();
  },
} as unknown as KubeClient;

test("an end of a path in another namespace is pointed at, and nothing is said twice", async () => {
  const ask = (kind: "Pod" | "Service", name: string, namespace?: string) =>
    pathEnds(
      { client } as SiteNetwork,
      { kind, name, ...(namespace !== undefined && { namespace }) },
      "default",
      signal,
    );
  const told = (what: string, hint: string) => (error: unknown) => {
    assert.equal(describeError(error), `there is no ${what} here (${hint})`);
    return true;
  };
  const elsewhere = "there is one in namespace shop: -n shop";
  await assert.rejects(ask("Pod", "db-0"), told("pod in namespace default called db-0", elsewhere));
  await assert.rejects(ask("Service", "billing-db"), told("service in namespace default called billing-db", elsewhere));
  await assert.rejects(
    ask("Pod", "db-0", "default"),
    told("pod in namespace default called db-0", "there is pod/shop/db-0"),
  );
});

test("a pod that an option names is the one of its own words, and else of the namespace that is used", async () => {
  const ask = (text: string) => namedObject(client, Pod, podText("--pod", text), "default", signal);
  assert.equal((await ask("shop/db-0")).metadata.namespace, "shop");
  await assert.rejects(ask("shop/nope"), /there is no pod in namespace shop called nope here$/);
  await assert.rejects(ask("shp/db-0"), /there is no namespace shp here \(did you mean shop\?\)$/);
});

test("an outsider that is not there, or does not run, is an error before anything is tried", async () => {
  const places = { sites: [], virtualNodes: [], contracts: [], peerings: [] };
  const network = { id: "own", name: "harbor", nameOf: () => undefined, places, plans: [], links: [] };
  const ask = (text: string) => outsiderOf(client, podText("--outsider", text), network, signal);
  await assert.rejects(ask("shop/nope"), { code: "CLI_NO_SUCH_THING" });
  await assert.rejects(
    ask("shop/db-0"),
    /--outsider cannot be shop\/db-0: it is Pending, and no command can be run in it/,
  );
  const running = { ...client, get: async () => ({ ...named("db-0", "shop"), status: { phase: "Running" } }) };
  assert.deepEqual(await outsiderOf(running as never, podText("--outsider", "shop/db-0"), network, signal), {
    namespace: "shop",
    pod: "db-0",
  });
});
