import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { type AskedMeans, askedMeans, SHADOW_PODS } from "./asked-means.ts";
import { parseKubePath } from "./kube-path.ts";
import type { Outcome } from "./overlapping-writes.ts";
import type { Verb } from "./rules.ts";
import { TenantObjects } from "./tenant-objects.ts";

const SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
const SHADOWS = "/apis/fjord.dev/v1alpha1/namespaces/shop/shadowpods";
const CLAIMS = "/api/v1/namespaces/shop/persistentvolumeclaims";
const SERVICES = "/api/v1/namespaces/shop/services";
const CONFIGS = "/api/v1/namespaces/shop/configmaps";
const NAMESPACES = "/apis/fjord.dev/v1alpha1/namespaces/tenant/twinnamespaces";

const nothing = async () => new Map<string, number>();

function tenant(
  policy = { objects: 100, bytes: 1_600, namespaces: 3, storage: 10, exposedServices: 2, exposedPorts: 5 },
  { clock = new ManualClock(), claims = nothing } = {},
) {
  const objects = new TenantObjects({
    policy: () => policy,
    stored: { twins: nothing, twinNamespaces: nothing, claims, exposedServices: nothing },
    clock,
    logger: silentLogger,
  });
  return async (
    collection: string,
    name: string,
    bytes: number,
    {
      asks = {},
      verb = "create",
      outcome = { kept: bytes },
    }: { asks?: AskedMeans; verb?: Verb; outcome?: Outcome } = {},
  ) => {
    const path = parseKubePath(collection);
    if (path === undefined) throw new Error(`${collection} is no path`);
    const settle = await objects.admit({ consumer: "c", verb, path, name, bytes, asks });
    return settle(outcome);
  };
}

/** What a shadow pod asks for that brings volumes along, of so many bytes each. */
function bringing(volumes: Readonly<Record<string, number>>): AskedMeans {
  const claim = (storage: number) => ({ volumeClaimTemplate: { spec: { resources: { requests: { storage } } } } });
  const listed = Object.entries(volumes).map(([name, bytes]) => ({ name, ephemeral: claim(bytes) }));
  return askedMeans(SHADOW_PODS, { spec: { pod: { spec: { volumes: listed } } } }, true);
}

const full = { status: 403, message: /quota exceeded/ };
const storage = { ...full, message: /claims of .* raise sharing\.objects\.storage/ };

describe("what one consumer keeps", () => {
  test("of kinds that the agent holds in memory is at most half of the bytes", async () => {
    const create = tenant();
    await create(SHADOWS, "a", 400);
    await create(SLICES, "a", 400);
    await assert.rejects(create(SHADOWS, "b", 1), { ...full, message: /beside ConfigMaps and Secrets/ });
    await create(CONFIGS, "a", 800);
    await assert.rejects(create(CONFIGS, "b", 1), full);
  });

  test("is together what it may be, and a refusal takes no room", async () => {
    const create = tenant();
    for (let attempt = 0; attempt < 10; attempt++) await assert.rejects(create(SHADOWS, `big-${attempt}`, 900), full);
    await create(CONFIGS, "a", 1_000);
    await assert.rejects(create(SHADOWS, "a", 700), full);
    await create(SHADOWS, "a", 600);
  });

  test("of volumes is what its claims ask for, however they are written", async () => {
    const write = tenant();
    await write(CLAIMS, "a", 100, { asks: { storage: 6 } });
    await assert.rejects(write(CLAIMS, "b", 1, { asks: { storage: 5 } }), storage);
    await write(CLAIMS, "b", 1, { asks: { storage: 4 } });
    await assert.rejects(write(CLAIMS, "a", 1, { verb: "patch", asks: { storage: 7 } }), storage);
    await write(CLAIMS, "a", 1, { verb: "patch" });
    await assert.rejects(write(CLAIMS, "c", 1, { asks: { storage: 1 } }), storage);
    await write(CLAIMS, "b", 0, { verb: "delete", outcome: "gone" });
    await write(CLAIMS, "c", 1, { asks: { storage: 4 }, outcome: "undone" });
    await write(CLAIMS, "d", 1, { asks: { storage: 4 } });
  });

  test("of volumes is no less where a claim asks for less than before: its volume may have grown already", async () => {
    const write = tenant();
    await write(CLAIMS, "a", 1, { asks: { storage: 1 } });
    await write(CLAIMS, "a", 1, { verb: "patch", asks: { storage: 8 } });
    for (const verb of ["patch", "update"] as const) await write(CLAIMS, "a", 1, { verb, asks: { storage: 2 } });
    await assert.rejects(write(CLAIMS, "b", 1, { asks: { storage: 3 } }), storage);
    await write(CLAIMS, "a", 0, { verb: "delete", outcome: "gone" });
    await write(CLAIMS, "b", 1, { asks: { storage: 10 } });
  });

  test("of volumes is also what its pods bring along, until a count finds that these have gone", async () => {
    const write = tenant();
    await write(SHADOWS, "a", 1, { asks: bringing({ scratch: 4, more: 2 }) });
    await assert.rejects(write(SHADOWS, "b", 1, { asks: bringing({ scratch: 5 }) }), storage);
    await assert.rejects(write(SHADOWS, "b", 1, { asks: bringing({ scratch: 3, more: 2 }) }), storage);
    await write(SHADOWS, "a", 1, { verb: "patch", asks: bringing({ scratch: 4, more: 2 }) });
    await write(SHADOWS, "a", 1, { verb: "delete", outcome: "gone" });
    await assert.rejects(write(CLAIMS, "b", 1, { asks: { storage: 5 } }), storage);
    await write(SHADOWS, "c", 1);
    await write(CLAIMS, "b", 1, { asks: { storage: 4 } });
  });

  test("of volumes is no less where a pod is said to bring less, or others: it has what it was made with", async () => {
    const changes: Record<string, number>[] = [{ scratch: 1 }, { other: 1 }];
    for (const less of changes)
      for (const verb of ["patch", "update"] as const) {
        const write = tenant();
        await write(SHADOWS, "a", 1, { asks: bringing({ scratch: 6 }) });
        await write(SHADOWS, "a", 1, { verb, asks: bringing(less) });
        await assert.rejects(write(SHADOWS, "b", 1, { asks: bringing({ scratch: 5 }) }), storage);
      }
    const write = tenant();
    await write(SHADOWS, "a", 1, { asks: bringing({ scratch: 6 }) });
    await assert.rejects(write(SHADOWS, "a", 1, { verb: "patch", asks: bringing({ other: 6 }) }), storage);
    await write(SHADOWS, "a", 1, { verb: "patch", asks: bringing({ other: 4 }) });
  });

  test("of volumes is no less where a pod was deleted and made again, which may still end", async () => {
    const write = tenant();
    await write(SHADOWS, "a", 1, { asks: bringing({ scratch: 6 }) });
    await write(SHADOWS, "a", 1, { verb: "delete", outcome: "gone" });
    await write(SHADOWS, "a", 1, { asks: bringing({ scratch: 1 }) });
    await assert.rejects(write(SHADOWS, "b", 1, { asks: bringing({ scratch: 5 }) }), storage);
    // The claim has the name of the one before: there is never but one of them.
    await write(SHADOWS, "a", 1, { verb: "delete", outcome: "gone" });
    await write(SHADOWS, "a", 1, { asks: bringing({ scratch: 10 }) });
  });

  test("of volumes that came with a pod has room again once a count finds them gone", async () => {
    const clock = new ManualClock();
    const claims = new Map<string, number>();
    const write = tenant(undefined, { clock, claims: async () => claims });
    await write(SHADOWS, "a", 1, { asks: bringing({ scratch: 6 }) });
    await write(SHADOWS, "a", 1, { verb: "patch", asks: bringing({ scratch: 1 }) });
    claims.set("shadowpods.fjord.dev/shop/a-scratch", 6);
    await clock.advance(5_000);
    await assert.rejects(write(SHADOWS, "b", 1, { asks: bringing({ scratch: 5 }) }), storage);
    claims.set("shadowpods.fjord.dev/shop/a-scratch", 1);
    await clock.advance(5_000);
    await write(SHADOWS, "b", 1, { asks: bringing({ scratch: 5 }) });
  });

  test("of volumes has a number, too: their names would fill the agent's memory", async () => {
    const write = tenant();
    for (let index = 0; index < 25; index++)
      await write(SHADOWS, "a", 1, { verb: "patch", asks: bringing({ [`v${index}`]: 0, [`w${index}`]: 0 }) });
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`x${index}`, 0]));
    await assert.rejects(write(SHADOWS, "b", 1, { asks: bringing(many) }), storage);
    await write(SHADOWS, "b", 1, { asks: bringing(Object.fromEntries(Object.entries(many).slice(0, 50))) });
    await assert.rejects(write(CLAIMS, "c", 1, { asks: { storage: 0 } }), storage);
  });

  test("of Services that are reached from outside is few, and one that no longer is leaves its place", async () => {
    const write = tenant();
    const exposed = { ...full, message: /2 Services of type NodePort or LoadBalancer .* may have 2: / };
    await write(SERVICES, "inner", 1, { asks: { exposed: false } });
    await write(SERVICES, "a", 1, { asks: { exposed: true } });
    await write(SERVICES, "b", 1, { asks: { exposed: true } });
    await assert.rejects(write(SERVICES, "inner", 1, { verb: "patch", asks: { exposed: true } }), exposed);
    await write(SERVICES, "b", 1, { verb: "update", asks: { exposed: true } });
    await write(SERVICES, "b", 1, { verb: "patch", asks: { exposed: false }, outcome: "undone" });
    await assert.rejects(write(SERVICES, "c", 1, { asks: { exposed: true } }), exposed);
    await write(SERVICES, "b", 1, { verb: "patch", asks: { exposed: false } });
    await write(SERVICES, "c", 1, { asks: { exposed: true } });
    await write(SERVICES, "a", 0, { verb: "delete", outcome: "gone" });
    await write(SERVICES, "b", 1, { verb: "patch", asks: { exposed: true } });
  });

  test("of ports of these Services is bounded, of one or of all", async () => {
    const write = tenant();
    const exposed = { ...full, message: /with 4 ports of at most 5, .*exposedServices or exposedPorts/ };
    await write(SERVICES, "inner", 1, { asks: { exposed: false, ports: 2_700 } });
    await write(SERVICES, "a", 1, { asks: { exposed: true, ports: 4 } });
    await assert.rejects(write(SERVICES, "b", 1, { asks: { exposed: true, ports: 2 } }), exposed);
    await assert.rejects(write(SERVICES, "a", 1, { verb: "patch", asks: { exposed: true, ports: 6 } }), exposed);
    await write(SERVICES, "a", 1, { verb: "update", asks: { exposed: true, ports: 3 } });
    await write(SERVICES, "b", 1, { asks: { exposed: true, ports: 2 } });
  });

  test("of requests for namespaces is few and small", async () => {
    const create = tenant();
    await assert.rejects(create(NAMESPACES, "a", 101), full);
    for (const name of ["a", "b", "c"]) await create(NAMESPACES, name, 30);
    await assert.rejects(create(NAMESPACES, "d", 1), full);
  });
});
