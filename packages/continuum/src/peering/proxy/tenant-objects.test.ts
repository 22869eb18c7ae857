import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { parseKubePath } from "./kube-path.ts";
import { TenantObjects } from "./tenant-objects.ts";

const SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
const SHADOWS = "/apis/fjord.dev/v1alpha1/namespaces/shop/shadowpods";
const CONFIGS = "/api/v1/namespaces/shop/configmaps";
const NAMESPACES = "/apis/fjord.dev/v1alpha1/namespaces/tenant/twinnamespaces";

function tenant(policy = { objects: 100, bytes: 1_600, namespaces: 3 }) {
  const objects = new TenantObjects({
    policy: () => policy,
    stored: { twins: async () => new Map(), twinNamespaces: async () => new Map() },
    clock: new ManualClock(),
    logger: silentLogger,
  });
  return async (collection: string, name: string, bytes: number) => {
    const path = parseKubePath(collection);
    if (path === undefined) throw new Error(`${collection} is no path`);
    const settle = await objects.admit({ consumer: "c", verb: "create", path, name, bytes });
    return settle({ kept: bytes });
  };
}

const full = { status: 403, message: /quota exceeded/ };

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

  test("of requests for namespaces is few and small", async () => {
    const create = tenant();
    await assert.rejects(create(NAMESPACES, "a", 101), full);
    for (const name of ["a", "b", "c"]) await create(NAMESPACES, name, 30);
    await assert.rejects(create(NAMESPACES, "d", 1), full);
  });
});
